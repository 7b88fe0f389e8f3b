// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/fused_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/weight_checks.h"

namespace qgen {
namespace {

Done check_kind(std::string_view operand, DType dtype, bool has_scale, bool has_zero_point) {
  if (is_real(dtype) && (has_scale || has_zero_point)) {
    return refused(fmt::format("{} is {}, and has a {}", operand, name(dtype), has_scale ? "scale" : "zero point"),
                   "integers are quantized, and reals are not");
  }
  if (is_real(dtype) || has_scale) return std::monostate{};
  return refused(fmt::format("{} is {}, and has no scale", operand, name(dtype)),
                 fmt::format("give {}_scale", operand));
}

Expected<CheckedOperand> checked(std::string_view operand, const TensorDesc& tensor,
                                 const std::optional<TensorDesc>& scale, const std::optional<TensorDesc>& zero_point) {
  const Shape& shape = tensor.shape;
  if (Done kind = check_kind(operand, tensor.dtype, scale.has_value(), zero_point.has_value()); !kind)
    return kind.error();
  if (Done count = check_count(operand, shape); !count) return count.error();
  if (!scale) return CheckedOperand{{shape, shape}, 0};
  if (Done plain = check_plain(fmt::format("{}_scale", operand), *scale, DType::f32); !plain) return plain.error();
  auto block = block_of(shape, scale->shape);
  if (!block) return block.error();
  CheckedOperand result{{shape, *std::move(block)}, 0};
  if (!zero_point) return result;
  if (Done plain = check_plain(fmt::format("{}_zero_point", operand), *zero_point, DType::i32); !plain)
    return plain.error();
  result.zero_points = element_count(zero_point->shape);
  if (result.zero_points == 1 || zero_point->shape == scale->shape) return result;
  return refused(fmt::format("{}_zero_point has shape {}, and {}_scale {}", operand, to_text(zero_point->shape),
                             operand, to_text(scale->shape)),
                 "a zero point is one number, or one a scale");
}

}  // namespace

Expected<CheckedOperand> checked_operand(std::string_view operand, const FusedOperandDesc& given) {
  if (Done plain = check_plain(operand, given.tensor, given.tensor.dtype); !plain) return plain.error();
  return checked(operand, given.tensor, given.scale, given.zero_point);
}

Expected<CheckedOperand> checked_output(const Shape& shape, const FusedOutputDesc& given) {
  return checked("output", {given.dtype, shape}, given.scale, given.zero_point);
}

Expected<IntegerRange> checked_range(const FusedOutputDesc& output) {
  if (is_real(output.dtype)) return IntegerRange{0, 0};
  return checked_range(output.dtype, output.range);
}

Done check_reals_agree(std::initializer_list<DType> dtypes) {
  const auto has = [&](DType dtype) { return std::ranges::find(dtypes, dtype) != dtypes.end(); };
  if (!has(DType::f32) || !has(DType::f16)) return std::monostate{};
  return refused("operands are f32 and f16, and no kernel takes both", "convert one of them");
}

}  // namespace qgen
