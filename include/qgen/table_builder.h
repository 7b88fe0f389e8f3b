// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// For generated tables only. Programs do not include it.
#pragma once

#include "qgen/kernels.h"
#include "qgen/vocabulary.h"
#include "runtime/engine/library/table_builder.h"
