// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors in host memory, and packed weights.
//
// Example: examples/headers/tensor.cpp
#pragma once

#include "runtime/engine/tensor/packed_weight.h"
#include "runtime/engine/tensor/tensor.h"
#include "runtime/engine/tensor/weight_form.h"
