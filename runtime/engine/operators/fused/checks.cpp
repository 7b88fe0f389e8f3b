// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/fused/checks.h"

#include <fmt/format.h>

#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/quant_range.h"

namespace qgen {
namespace {

Done check_kind(std::string_view operand, const FusedOperand& given) {
  const DType dtype = given.tensor.dtype;
  if (is_real(dtype) && (given.scale || given.zero_point)) {
    return refused(fmt::format("{} is {}, and has a {}", operand, name(dtype), given.scale ? "scale" : "zero point"),
                   "integer operands have a scale, floating-point ones have none");
  }
  if (is_real(dtype) || given.scale) return std::monostate{};
  return refused(fmt::format("{} is {}, and has no scale", operand, name(dtype)),
                 fmt::format("give {}_scale", operand));
}

// The scale cuts the operand into blocks.
Expected<CheckedOperand> checked(std::string_view operand, const FusedOperand& given) {
  if (Done kind = check_kind(operand, given); !kind) return kind.error();
  const Shape& shape = given.tensor.shape;
  if (!given.scale) return CheckedOperand{{shape, shape}, 0};
  auto block = block_of(shape, given.scale->shape);
  if (!block) return block.error();
  CheckedOperand result{{shape, *std::move(block)}, 0};
  if (!given.zero_point) return result;
  const Shape& zero_points = given.zero_point->shape;
  result.zero_points = static_cast<uint32_t>(element_count(zero_points));
  if (result.zero_points == 1 || zero_points == given.scale->shape) return result;
  return refused(fmt::format("{}_zero_point has shape {}, and {}_scale has {}", operand, to_text(zero_points), operand,
                             to_text(given.scale->shape)),
                 "give one zero point, or one per scale");
}

// Each kernel is made for one floating-point dtype.
Done check_reals_agree(std::initializer_list<DType> dtypes) {
  const auto has = [&](DType dtype) { return std::ranges::find(dtypes, dtype) != dtypes.end(); };
  if (!has(DType::f32) || !has(DType::f16)) return std::monostate{};
  return refused("some operands are f32 and others f16, and no kernel accepts both", "convert one of them");
}

}  // namespace

Expected<CheckedOperands> checked_operands(const FusedOperand& input, const std::optional<FusedOperand>& other,
                                           const Shape& shape, const std::optional<TensorDesc>& output_scale,
                                           const std::optional<TensorDesc>& output_zero_point,
                                           std::optional<DType> output_dtype, std::optional<int64_t> quant_min,
                                           std::optional<int64_t> quant_max) {
  const DType of_input = input.tensor.dtype, of_other = other ? other->tensor.dtype : of_input;
  const bool is_half = of_input == DType::f16 || of_other == DType::f16;
  const DType dtype = output_dtype.value_or(output_scale ? DType::i8 : is_half ? DType::f16 : DType::f32);
  if (Done agree = check_reals_agree({of_input, of_other, dtype}); !agree) return agree.error();
  FusedOperand output{.tensor = {}, .scale = output_scale, .zero_point = output_zero_point};
  output.tensor.dtype = dtype;
  output.tensor.shape = shape;
  if (Done size = check_size("output", output.tensor); !size) return size.error();
  auto first = checked("input", input);
  if (!first) return first.error();
  auto second = other ? checked("other", *other) : CheckedOperand{{shape, shape}, 0};
  if (!second) return second.error();
  auto last = checked("output", output);
  if (!last) return last.error();
  const auto range = is_real(dtype) ? IntegerRange{0, 0} : checked_range(dtype, quant_min, quant_max);
  if (!range) return range.error();
  return CheckedOperands{output.tensor, {*std::move(first), *std::move(second), *std::move(last)}, *range};
}

}  // namespace qgen
