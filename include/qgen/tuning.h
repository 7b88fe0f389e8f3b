// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measured times: the store that programs share, and tuning files.
//
// Example: examples/headers/tuning.cpp
#pragma once

#include "runtime/engine/tuning/known_times.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/engine/tuning/tuned_row.h"
#include "runtime/engine/tuning/tuning_file.h"
