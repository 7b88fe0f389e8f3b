// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words of the field, a table for each: dtypes, layouts, weight forms, features of devices.
#pragma once

#include "vocabulary/dtypes.h"
#include "vocabulary/features.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"
#include "vocabulary/rows.h"
#include "vocabulary/weight_forms.h"
