// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reading and writing NumPy's .npy files.
//
// Example: examples/headers/npy.cpp
#pragma once

#include "common/files.h"
#include "runtime/engine/tensor/npy.h"
