// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dtypes, layouts, weight forms and device features: a table for each.
//
// Example: examples/headers/vocabulary.cpp
#pragma once

#include "vocabulary/dtypes.h"
#include "vocabulary/features.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"
#include "vocabulary/rows.h"
#include "vocabulary/weight_forms.h"
