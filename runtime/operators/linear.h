// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Linear layers of int8 activations with one scale and zero point, and int8 weights with a scale a row.
// docs/linear.md says what is computed, to the bit.
//
//   Weight weight = *Weight::create(codes, {});                        // [N, K] of i8
//   auto y = q8ta_linear(context, x, weight, scales, &bias, {.input_scale = 0.02f, .output_scale = 0.1f});
//
// x is [..., K] of any rank from 1 on, and y [..., N]; all matrices of a batch are one product of more rows. Any M, N
// and K do, K up to kMaxLinearDepth. Whether few rows or many, one function: kernels are chosen by the actual shape.
#pragma once

#include "runtime/operators/call.h"
#include "runtime/operators/words.h"

namespace qgen {

// Sums of so many products of int8, and their zero-point corrections, are exact in 32 bits.
constexpr int64_t kMaxLinearDepth = 131072;

struct Q8taLinearOptions {
  float input_scale = 1;
  int32_t input_zero_point = 0;
  float output_scale = 1;
  int32_t output_zero_point = 0;
  Activation activation = Activation::none;
  std::optional<Place> output;  // without: the layout of the input
};
// `scales` is f32 [N], and so is `bias`.
Expected<Call> q8ta_linear_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                const std::optional<TensorDesc>& bias, const Q8taLinearOptions& options);
Expected<DeviceTensor> q8ta_linear(Context& context, const DeviceTensor& input, Weight& weight,
                                   const DeviceTensor& scales, const DeviceTensor* bias,
                                   const Q8taLinearOptions& options);

struct LinearQ8taQ8cswOptions {
  float input_scale = 1;
  int32_t input_zero_point = 0;
  Activation activation = Activation::none;
};
// Reals, f32 or f16: quantized by input_scale, multiplied in int8, and real again, of the input's dtype.
Expected<Call> linear_q8ta_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                      const std::optional<TensorDesc>& bias, const LinearQ8taQ8cswOptions& options);
Expected<DeviceTensor> linear_q8ta_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                         const DeviceTensor& scales, const DeviceTensor* bias,
                                         const LinearQ8taQ8cswOptions& options);

}  // namespace qgen
