// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// NumPy's .npy files, read and written.
#pragma once

#include "common/files.h"
#include "runtime/engine/tensor/npy.h"
