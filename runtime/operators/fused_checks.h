// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What operators on operands of any quantization check alike. Errors say what was given and what is possible.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "runtime/operators/checks.h"
#include "runtime/operators/fused.h"
#include "runtime/operators/fused_shape.h"
#include "runtime/operators/words.h"

namespace qgen {

inline bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

// Every dtype that an operand may have, and how kernels that are told it call it.
inline constexpr DType kFusedDTypes[] = {DType::f32, DType::f16, DType::i8, DType::u8, DType::i16, DType::i32};
inline FusedDtype kind_of(DType dtype) {
  const auto& words = generated::words::kFusedDtype;
  return static_cast<FusedDtype>(std::ranges::find(words, name(dtype)) - std::begin(words));
}

// An operand that has passed its checks.
struct CheckedOperand {
  BlockedOperand blocks;
  int64_t zero_points = 0;  // how many it has
};

// Integers have a scale, and reals none; the scale cuts the operand into blocks.
Expected<CheckedOperand> checked_operand(std::string_view operand, const FusedOperandDesc& given);
Expected<CheckedOperand> checked_output(const Shape& shape, const FusedOutputDesc& given);
// What attributes say of an output, beside its tensors. Without a dtype it is i8 where it has a scale, else that of real
// inputs, else f32.
template <typename Inputs, typename Attributes>
FusedOutputDesc output_of(const Inputs& inputs, const Attributes& attributes, bool is_half) {
  const std::optional<TensorDesc> scale = inputs.output_scale;
  const DType otherwise = scale ? DType::i8 : is_half ? DType::f16 : DType::f32;
  const DType dtype = attributes.output_dtype.value_or(otherwise);
  return {dtype, scale, inputs.output_zero_point, given_range(dtype, attributes.quant_min, attributes.quant_max)};
}
template <typename Inputs, typename Attributes>
FusedOutputDesc output_of_one(const Inputs& inputs, const Attributes& attributes) {
  return output_of(inputs, attributes, inputs.input.dtype == DType::f16);
}
template <typename Inputs, typename Attributes>
FusedOutputDesc output_of_two(const Inputs& inputs, const Attributes& attributes) {
  return output_of(inputs, attributes, inputs.input.dtype == DType::f16 || inputs.other.dtype == DType::f16);
}
template <typename Inputs>
FusedOperandDesc input_of(const Inputs& inputs) {
  return {inputs.input, inputs.input_scale, inputs.input_zero_point};
}
template <typename Inputs>
FusedOperandDesc other_of(const Inputs& inputs) {
  return {inputs.other, inputs.other_scale, inputs.other_zero_point};
}

// The range of the output's integers; of reals any.
Expected<IntegerRange> checked_range(const FusedOutputDesc& output);
// Kernels are made for one kind of reals.
Done check_reals_agree(std::initializer_list<DType> dtypes);

// Runs the Call that `make` makes of what the operands are. Error: one is null.
template <typename MakeCall>
Expected<DeviceTensor> run_fused(Context& context, MakeCall make, const FusedOperand& input,
                                 const FusedOutput& output) {
  if (Done given = check_given("input", input.tensor); !given) return given.error();
  return run_for_one(context, make(desc_of(input), desc_of(output)), arguments_of(input, output));
}
template <typename MakeCall>
Expected<DeviceTensor> run_fused(Context& context, MakeCall make, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output) {
  if (Done given = check_given("input", input.tensor); !given) return given.error();
  if (Done given = check_given("other", other.tensor); !given) return given.error();
  return run_for_one(context, make(desc_of(input), desc_of(other), desc_of(output)),
                     arguments_of(input, other, output));
}

}  // namespace qgen
