// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// fused.h, on requests.
#pragma once

#include "runtime/reference/references.h"

namespace qgen::reference {

Tensors requantize(const Request& request);
Tensors fused_relu(const Request& request);
Tensors fused_hardswish(const Request& request);
Tensors fused_add(const Request& request);
Tensors fused_mul(const Request& request);
Tensors fused_bmm(const Request& request);  // bmm too

}  // namespace qgen::reference
