// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// weight_linear.h, on requests.
#pragma once

#include "runtime/reference/references.h"

namespace qgen::reference {

Answer weight_only_linear(const Request& request);
Answer weight_only_backward(const Request& request);
Answer dynamic_linear(const Request& request);
Tensors embedding(const Request& request);
Tensors pack_weight(const Request& request);
Tensors quantize_q4gsw(const Request& request);

}  // namespace qgen::reference
