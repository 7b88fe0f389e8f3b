// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Linear layers of real activations: x is f32 or f16, [..., K] of any rank from 1 on, w is integers [N, K], and y = x
// w^T is [..., N] of x's dtype. docs/linear_weights.md says what is computed, and how near to it results are.
//
//   linear_q8csw, linear_q4gsw                weights alone are integers: of 8 bits, or of 4
//   linear_dq8ca_q8csw, linear_dq8ca_q4gsw    each row of x becomes integers too, when its range is known
//   linear_q4gsw_backward                     the way back: dx = dy w, where a model is trained around its weights
//
//   Weight weight = *Weight::create(codes, {});                                   // [N, K] of i8
//   auto y = linear_q4gsw(context, x, weight, scales, &bias, {});                 // scales [N, K / group_size]
//
// Scales are f32: [N], or of 4 bits also [N, G], where G divides K and a group is K / G neighbours along K. The bias is
// f32 [N]. Any M, N and K do; kernels are chosen by the actual shape. A Weight may be shared with other layers and an
// embedding.
#pragma once

#include "runtime/operators/affine.h"
#include "runtime/operators/words.h"

namespace qgen {

struct WeightLinearOptions {
  Activation activation = Activation::none;
};
Expected<Call> linear_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<TensorDesc>& bias, const WeightLinearOptions& options);
Expected<Call> linear_q4gsw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<TensorDesc>& bias, const WeightLinearOptions& options);
Expected<DeviceTensor> linear_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                    const DeviceTensor& scales, const DeviceTensor* bias,
                                    const WeightLinearOptions& options);
Expected<DeviceTensor> linear_q4gsw(Context& context, const DeviceTensor& input, Weight& weight,
                                    const DeviceTensor& scales, const DeviceTensor* bias,
                                    const WeightLinearOptions& options);

// The gradient of x [..., K] from that of y [..., N], f32 or f16; it reads the form of the weight that linear_q4gsw reads.
Expected<Call> linear_q4gsw_backward_call(const TensorDesc& d_output, const TensorDesc& weight,
                                          const TensorDesc& scales);
Expected<DeviceTensor> linear_q4gsw_backward(Context& context, const DeviceTensor& d_output, Weight& weight,
                                             const DeviceTensor& scales);

// How a row of x becomes integers: choose_qparams_affine over the row, then quantize_affine.
struct DynamicLinearOptions {
  MappingType mapping_type = MappingType::asymmetric;
  IntegerRange range{-128, 127};  // within i8
  Activation activation = Activation::none;
};
Expected<Call> linear_dq8ca_q8csw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                       const std::optional<TensorDesc>& bias, const DynamicLinearOptions& options);
Expected<Call> linear_dq8ca_q4gsw_call(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& scales,
                                       const std::optional<TensorDesc>& bias, const DynamicLinearOptions& options);
Expected<DeviceTensor> linear_dq8ca_q8csw(Context& context, const DeviceTensor& input, Weight& weight,
                                          const DeviceTensor& scales, const DeviceTensor* bias,
                                          const DynamicLinearOptions& options);
Expected<DeviceTensor> linear_dq8ca_q4gsw(Context& context, const DeviceTensor& input, Weight& weight,
                                          const DeviceTensor& scales, const DeviceTensor* bias,
                                          const DynamicLinearOptions& options);

// Neighbours along K whose weights the dynamic kernels take the sum of: a group, or, so that a sum of products fits 32
// bits, a part of a row that has no groups. Weight::sums() of it is their operand weight_sums.
int64_t run_of(const TensorDesc& weight, const TensorDesc& scales);

}  // namespace qgen
