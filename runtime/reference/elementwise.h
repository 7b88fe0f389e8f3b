// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators on the elements of i8 tensors as docs/q8ta.md defines them, one element at a time, on requests.
#pragma once

#include "runtime/reference/references.h"

namespace qgen::reference {

Tensors q8ta_relu(const Request& request);
Tensors q8ta_hardswish(const Request& request);
Tensors q8ta_sigmoid(const Request& request);
Tensors q8ta_add(const Request& request);
Tensors q8ta_sub(const Request& request);
Tensors q8ta_mul(const Request& request);
Tensors q8ta_pixel_shuffle(const Request& request);

}  // namespace qgen::reference
