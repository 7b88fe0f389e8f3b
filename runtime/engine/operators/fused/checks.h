// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that the fused operators have in common, after their signatures' checks. Errors have the given and the
// possible values.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "runtime/engine/calls/infer_arguments.h"
#include "runtime/engine/operators/fused/shape.h"
#include "runtime/engine/tensor/quant_params.h"
#include "words.h"

namespace qgen {

// An operand with its parameters: quantized ones have a scale, and may have a zero point; floating-point ones have
// neither.
struct FusedOperand {
  TensorDesc tensor;
  std::optional<TensorDesc> scale, zero_point;
};

// The number of an operand's dtype in kernels that get it.
inline generated::words::FusedDtype kind_of(DType dtype) {
  const auto& words = generated::words::kFusedDtype;
  return static_cast<generated::words::FusedDtype>(std::ranges::find(words, name(dtype)) - std::begin(words));
}

// The operands of an operator of one or two inputs, checked.
struct CheckedOperand {
  BlockedOperand blocks;
  uint32_t zero_points = 0;  // how many it has
};
struct CheckedOperands {
  TensorDesc output;
  std::array<CheckedOperand, kFusedOperands> operands;  // input, other, output
  IntegerRange range;                                   // for quantized outputs; for floating-point ones any
};
// `shape` is the output's. Without a dtype the output is i8 where it has a scale, else of the dtype of real inputs,
// else f32. Without `other`, as if there were a real one of the output's shape.
Expected<CheckedOperands> checked_operands(const FusedOperand& input, const std::optional<FusedOperand>& other,
                                           const Shape& shape, const std::optional<TensorDesc>& output_scale,
                                           const std::optional<TensorDesc>& output_zero_point,
                                           std::optional<DType> output_dtype, std::optional<int64_t> quant_min,
                                           std::optional<int64_t> quant_max);

// Of an operator's own structs.
FusedOperand input_of(const auto& inputs) { return {inputs.input, inputs.input_scale, inputs.input_zero_point}; }
FusedOperand other_of(const auto& inputs) { return {inputs.other, inputs.other_scale, inputs.other_zero_point}; }
Expected<CheckedOperands> checked_operands(const auto& inputs, const auto& attributes,
                                           const std::optional<FusedOperand>& other, const Shape& shape) {
  return checked_operands(input_of(inputs), other, shape, inputs.output_scale, inputs.output_zero_point,
                          attributes.output_dtype, attributes.quant_min, attributes.quant_max);
}

}  // namespace qgen
