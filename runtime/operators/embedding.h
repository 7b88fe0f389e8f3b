// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of a weight of four bits, gathered by index: the token embedding of a language model. docs/linear_weights.md
// says what is computed, to the bit.
//
//   Weight weight = *Weight::create(codes, {});                          // [V, D] of i8 from -8 to 7
//   auto x = embedding_q4gsw(context, tokens, weight, scales, {});       // [..., D], scales [V, D / group_size]
//   ...
//   auto logits = linear_q4gsw(context, h, weight, scales, nullptr, {}); // tied: the same memory on the device
//
// Indices are i32 of any shape; the row of an index that is negative or past the last is NaN.
#pragma once

#include "runtime/operators/call.h"

namespace qgen {

struct EmbeddingOptions {
  DType output_dtype = DType::f32;  // f32 or f16
};
Expected<Call> embedding_q4gsw_call(const TensorDesc& indices, const TensorDesc& weight, const TensorDesc& scales,
                                    const EmbeddingOptions& options);
Expected<DeviceTensor> embedding_q4gsw(Context& context, const DeviceTensor& indices, Weight& weight,
                                       const DeviceTensor& scales, const EmbeddingOptions& options);

}  // namespace qgen
