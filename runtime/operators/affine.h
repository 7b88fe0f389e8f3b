// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Affine quantization of any granularity. docs/affine.md says what is computed, to the bit.
//
//   auto params = choose_qparams_affine(context, view(x), {.block_size = {1, 64}, .target_dtype = DType::u8});
//   auto q = quantize_affine(context, view(x), params->scale, &params->zero_point, {.output_dtype = DType::u8});
//   auto y = dequantize_affine(context, *q, params->scale, &params->zero_point, {});
//
// The real side is f32 or f16 and may be a view with strides; the integer side is i8, u8, i16 or i32, and dense. Each
// side may be a buffer of rank 0 to 8, or a texture of rank up to 4. Scales are f32 and zero points i32, in buffers.
//
// Without a block size it follows from the scale's shape: a singleton is one for all, anything else has the data's
// rank. With one, scale and zero point may have any shape of as many elements as there are blocks; a single zero point
// serves all, and none is 0.
#pragma once

#include "runtime/operators/tensor_view.h"
#include "runtime/operators/words.h"
#include "runtime/tensor/quant_params.h"

namespace qgen {

struct QuantizeAffineOptions {
  std::optional<Shape> block_size;
  DType output_dtype = DType::i8;
  std::optional<IntegerRange> range;  // quant_min and quant_max; without: all that output_dtype holds
  Place output;
};
Expected<Call> quantize_affine_call(const ViewedDesc& input, const TensorDesc& scale,
                                    const std::optional<TensorDesc>& zero_point, const QuantizeAffineOptions& options);
Expected<DeviceTensor> quantize_affine(Context& context, const ViewedTensor& input, const DeviceTensor& scale,
                                       const DeviceTensor* zero_point, const QuantizeAffineOptions& options);

struct DequantizeAffineOptions {
  std::optional<Shape> block_size;
  DType output_dtype = DType::f32;
  std::optional<IntegerRange> range;  // of the input: checked, and computes nothing
  Place output;
};
// The Call writes a row-major output; the second form one that is there, as `output` views it.
Expected<Call> dequantize_affine_call(const TensorDesc& input, const TensorDesc& scale,
                                      const std::optional<TensorDesc>& zero_point,
                                      const DequantizeAffineOptions& options);
Expected<Call> dequantize_affine_call(const TensorDesc& input, const TensorDesc& scale,
                                      const std::optional<TensorDesc>& zero_point,
                                      const std::optional<Shape>& block_size, const ViewedDesc& output);
Expected<DeviceTensor> dequantize_affine(Context& context, const DeviceTensor& input, const DeviceTensor& scale,
                                         const DeviceTensor* zero_point, const DequantizeAffineOptions& options);
Done dequantize_affine_to(Context& context, const DeviceTensor& input, const DeviceTensor& scale,
                          const DeviceTensor* zero_point, const std::optional<Shape>& block_size,
                          const ViewedTensor& output);

struct ChooseQparamsAffineOptions {
  std::optional<Shape> block_size;  // without: one block of everything
  MappingType mapping_type = MappingType::asymmetric;
  DType target_dtype = DType::i8;
  std::optional<IntegerRange> range;  // as above, of target_dtype
  std::optional<float> eps;           // the least scale; without: the smallest normal of the input's dtype
  bool keepdim = true;                // false: dimensions that one block spans are dropped, but for those of side 1
};
struct AffineParams {
  DeviceTensor scale, zero_point;
};
Expected<Call> choose_qparams_affine_call(const ViewedDesc& input, const ChooseQparamsAffineOptions& options);
Expected<AffineParams> choose_qparams_affine(Context& context, const ViewedTensor& input,
                                             const ChooseQparamsAffineOptions& options);

}  // namespace qgen
