// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors of bytes between the layouts of docs/layouts.md, and between them and reals.
//
//   auto q = q8ta_quantize(context, view(x), {.scale = 0.02f, .zero_point = -3}, Layout::packed_4w4c);
//   auto rows = q8ta_clone(context, *q, Layout::packed_4w);
//   auto y = q8ta_dequantize(context, *rows, {.scale = 0.02f, .zero_point = -3}, {});
//
// Any rank, any sides; tensors of fewer than 2^32 elements, padding counted. Bytes lie in buffers. Reals are f32 or
// f16, in a buffer, or in a texture up to rank 4.
#pragma once

#include "runtime/operators/per_tensor.h"
#include "runtime/operators/tensor_view.h"

namespace qgen {

// The same bytes, i8 or u8, in another layout; padding becomes 0.
Expected<Call> q8ta_clone_call(const TensorDesc& input, Layout output);
Expected<DeviceTensor> q8ta_clone(Context& context, const DeviceTensor& input, Layout output);

// The integers of quantize_affine with one scale and zero point. A view of the input has strides of its own; those of
// dimensions before the last three must run on from one to the next.
Expected<Call> q8ta_quantize_call(const ViewedDesc& input, const PerTensor& params, Layout output);
Expected<DeviceTensor> q8ta_quantize(Context& context, const ViewedTensor& input, const PerTensor& params,
                                     Layout output);

// The bits of dequantize_affine with one scale and zero point.
struct Q8taDequantizeOptions {
  DType output_dtype = DType::f32;
  Place output;
};
Expected<Call> q8ta_dequantize_call(const TensorDesc& input, const PerTensor& params,
                                    const Q8taDequantizeOptions& options);
Expected<DeviceTensor> q8ta_dequantize(Context& context, const DeviceTensor& input, const PerTensor& params,
                                       const Q8taDequantizeOptions& options);

}  // namespace qgen
