// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// affine.h, on requests.
#pragma once

#include "runtime/reference/references.h"

namespace qgen::reference {

Tensors quantize_affine(const Request& request);
Tensors dequantize_affine(const Request& request);
Tensors choose_qparams_affine(const Request& request);

}  // namespace qgen::reference
