// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reading and writing NumPy's .npy files.
#pragma once

#include "common/files.h"
#include "runtime/engine/tensor/npy.h"
