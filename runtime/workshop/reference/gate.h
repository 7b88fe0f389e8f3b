// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The gate of a gated layer, as docs/pointwise.md defines it.
#pragma once

#include "runtime/workshop/reference/exact.h"

namespace qgen::reference {

// silu_mul of an input of this dtype and shape. Its elements may be the results of kernels: each has a bound.
ExactOutput silu_mul(const Exact& input, DType dtype, Shape shape);

}  // namespace qgen::reference
