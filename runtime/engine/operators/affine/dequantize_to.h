// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Affine quantization of any granularity, for callers in C++ who need more than operators.h. docs/affine.md defines the
// results, which are bit-exact.
#pragma once

#include "operators.h"

namespace qgen {

// dequantize_affine into a tensor that is there, as `output` views it: no two of its elements in one place.
Expected<Call> dequantize_affine_to_call(const generated::operators::DequantizeAffineInputs<Described>& inputs,
                                         const std::optional<Shape>& block_size, const ViewedDesc& output);
Done dequantize_affine_to(Context& context, const generated::operators::DequantizeAffineInputs<OnDevice>& inputs,
                          const std::optional<Shape>& block_size, const ViewedTensor& output);

}  // namespace qgen
