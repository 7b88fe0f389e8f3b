// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Linear layers with integer weights on floating-point activations, as docs/linear_weights.md defines them: in double,
// one output at a time, with the error bound of computing it in f32. The spec's tolerance covers the rounding of the
// result.
#pragma once

#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/exact.h"
#include "runtime/workshop/reference/linear.h"

namespace qgen::reference {

struct WeightLinear {
  const HostTensor& input;           // f32 or f16, [..., K]
  const HostTensor& weight;          // i8, [N, K]
  const HostTensor& weight_scales;   // f32, [N] or [N, K / group_size]
  const HostTensor* bias = nullptr;  // f32, [N]
  Activation activation = Activation::none;
};

// linear_q8csw and linear_q4gsw. The output is of the input's dtype.
ExactOutput weight_only_linear(const WeightLinear& linear);

// The same of an input that a kernel computes: its exact elements and their bounds, before they are rounded to its
// dtype.
ExactOutput weight_only_linear(const WeightLinear& linear, const Exact& input);

// linear_q4gsw_backward. `d_output` is f32 or f16, [..., N], and so is the result, [..., K].
ExactOutput weight_only_backward(const HostTensor& d_output, const HostTensor& weight, const HostTensor& weight_scales);

// linear_dq8ca_q8csw and linear_dq8ca_q4gsw: the integers in between are exact.
ExactOutput dynamic_linear(const WeightLinear& linear, MappingType mapping, IntegerBounds bounds);

// quantize_q4gsw: exact, i8 of the input's shape.
HostTensor quantize_weight(const HostTensor& input, const HostTensor& weight_scales, IntegerBounds bounds);

// embedding_q4gsw: exact. `indices` are i32 of any shape.
HostTensor embedding(const HostTensor& indices, const HostTensor& weight, const HostTensor& weight_scales,
                     DType output_dtype);

}  // namespace qgen::reference
