// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators that move tensors between layouts, on requests. A layout is no part of a tensor's value, so no reference
// has one.
#pragma once

#include "runtime/reference/references.h"

namespace qgen::reference {

Tensors q8ta_clone(const Request& request);
Tensors q8ta_quantize(const Request& request);
Tensors q8ta_dequantize(const Request& request);

}  // namespace qgen::reference
