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

namespace qgen {

inline bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

// Every dtype that an operand may have; fused_binary.yaml and fused_bmm.yaml number them in this order.
inline constexpr DType kFusedDTypes[] = {DType::f32, DType::f16, DType::i8, DType::u8, DType::i16, DType::i32};
inline uint32_t kind_of(DType dtype) {
  return static_cast<uint32_t>(std::ranges::find(kFusedDTypes, dtype) - std::begin(kFusedDTypes));
}

// An operand that has passed its checks.
struct CheckedOperand {
  BlockedOperand blocks;
  int64_t zero_points = 0;  // how many it has
};

// Integers have a scale, and reals none; the scale cuts the operand into blocks.
Expected<CheckedOperand> checked_operand(std::string_view operand, const FusedOperandDesc& given);
Expected<CheckedOperand> checked_output(const Shape& shape, const FusedOutputDesc& given);
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
