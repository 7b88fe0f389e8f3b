// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/fused/shape.h"

#include <algorithm>
#include <optional>

#include "runtime/engine/operators/merge_dimensions.h"

namespace qgen {
namespace {

// One a dimension of the output, innermost first; outer dimensions that the operand lacks repeat it.
std::vector<FusedSide> sides_of(const BlockedOperand& operand, size_t rank) {
  std::vector<FusedSide> sides(rank);
  int64_t stride = 1, parameter_stride = 1;
  for (size_t i = 0; i < operand.shape.size(); ++i) {
    const size_t d = operand.shape.size() - 1 - i;
    const int64_t side = operand.shape[d];
    const int64_t blocks = side / std::max<int64_t>(operand.block[d], 1);
    if (side > 1) sides[i].stride = stride;
    if (blocks > 1) {
      sides[i].block = operand.block[d];
      sides[i].parameter_stride = parameter_stride;
    }
    stride *= side;
    parameter_stride *= std::max<int64_t>(blocks, 1);
  }
  return sides;
}

// `outer` and `inner` as one dimension of coordinates outer * side + inner, where that says the same.
std::optional<FusedSide> joined(const FusedSide& outer, const FusedSide& inner, int64_t side) {
  if (outer.stride != inner.stride * side) return std::nullopt;
  if (inner.parameter_stride == 0) {
    const int64_t block = outer.parameter_stride == 0 ? 1 : outer.block * side;
    return FusedSide{inner.stride, block, outer.parameter_stride};
  }
  const bool goes_on = outer.block == 1 && outer.parameter_stride == inner.parameter_stride * (side / inner.block);
  return goes_on ? std::optional(inner) : std::nullopt;
}

std::optional<FusedDimension> joined(const FusedDimension& outer, const FusedDimension& inner) {
  FusedDimension both{outer.side * inner.side, {}};
  for (size_t i = 0; i < kFusedOperands; ++i) {
    const auto side = joined(outer.operands[i], inner.operands[i], inner.side);
    if (!side) return std::nullopt;
    both.operands[i] = *side;
  }
  return both;
}

}  // namespace

FusedShape fused_shape(const std::array<BlockedOperand, kFusedOperands>& operands) {
  const Shape& output = operands.back().shape;
  FusedShape shape(output.size());
  for (size_t i = 0; i < shape.size(); ++i) shape[i].side = output[output.size() - 1 - i];
  for (size_t operand = 0; operand < kFusedOperands; ++operand) {
    const auto sides = sides_of(operands[operand], shape.size());
    for (size_t i = 0; i < shape.size(); ++i) shape[i].operands[operand] = sides[i];
  }
  return shape;
}

FusedShape merged(const FusedShape& shape) {
  if (std::ranges::find(shape, 0, &FusedDimension::side) != shape.end()) return {};
  return merge_dimensions(
      shape, [](const FusedDimension& outer, const FusedDimension& inner) { return joined(outer, inner); });
}

bool is_simple(const FusedShape& merged) {
  constexpr FusedSide kDense{1, 1, 0};
  if (merged.empty()) return true;
  return merged.size() == 1 &&
         std::ranges::all_of(merged[0].operands, [&](const FusedSide& side) { return side == kDense; });
}

}  // namespace qgen
