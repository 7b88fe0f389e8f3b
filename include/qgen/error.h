// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Errors as values: Expected<T> is a value, or a sentence that says why there is none.
//
// Example: examples/headers/error.cpp
#pragma once

#include "common/error.h"
#include "common/outcome.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/library/outcome.h"
