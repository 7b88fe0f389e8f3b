// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/affine/shape.h"

#include <optional>

#include "runtime/engine/operators/merge_dimensions.h"
#include "vocabulary/integer.h"

namespace qgen {
namespace {

bool has_one_parameter(const BlockedDimension& dimension) { return dimension.block == dimension.side; }

// `outer` and `inner` as one dimension of coordinates outer * inner.side + inner, where that says the same:
//
//   inner has one parameter      its side joins the block: c / (outer.block * inner.side)
//   each outer step is a block   blocks stay inner's, the parameters go on counting: c / inner.block
std::optional<BlockedDimension> joined(const BlockedDimension& outer, const BlockedDimension& inner) {
  if (outer.stride != inner.stride * inner.side) return std::nullopt;
  const int64_t side = outer.side * inner.side;
  if (has_one_parameter(inner))
    return BlockedDimension{side, outer.block * inner.side, outer.parameter_stride, inner.stride};
  if (outer.block == 1) return BlockedDimension{side, inner.block, inner.parameter_stride, inner.stride};
  return std::nullopt;
}

}  // namespace

BlockedShape blocked_shape(const View& view, const Shape& block) {
  if (element_count(view.shape) == 0) return {};
  BlockedShape result;
  int64_t parameter_stride = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    const int64_t side = view.shape[d];
    // A dimension of length 1 is never stepped along; its stride may be anything.
    result.push_back({side, block[d], parameter_stride, side == 1 ? 0 : view.strides[d]});
    parameter_stride *= side / block[d];
  }
  return result;
}

BlockedShape merged(const BlockedShape& shape) {
  return merge_dimensions(
      shape, [](const BlockedDimension& outer, const BlockedDimension& inner) { return joined(outer, inner); });
}

// Of the elements' numbers alone: merged as if the tensor were dense, so that memory keeps no dimensions apart.
ParameterPattern parameter_pattern(const BlockedShape& shape) {
  BlockedShape dense = shape;
  int64_t stride = 1;
  for (BlockedDimension& dimension : dense) {
    dimension.stride = stride;
    stride *= dimension.side;
  }
  dense = merged(dense);
  if (dense.empty()) return {.run = 1, .is_periodic = true};
  const bool is_periodic = dense.size() == 1 || (dense.size() == 2 && has_one_parameter(dense[1]));
  return {.run = dense[0].block, .is_periodic = is_periodic};
}

int64_t item_distance(const ParameterPattern& pattern, int64_t parameters) {
  constexpr int64_t kWord = 4, kTaken = kMostItems * kWord, kWorkgroup = 256;
  if (parameters <= 1) return kWorkgroup;
  if (pattern.run % kTaken == 0 && pattern.run > kTaken) {
    int64_t distance = pattern.run / kTaken;
    while (distance > kWorkgroup && distance % 2 == 0) distance /= 2;  // so that elements of one run are adjacent
    return distance;
  }
  const int64_t period = pattern.run * parameters;
  return pattern.is_periodic && period % kWord == 0 ? period / kWord : 0;
}

DimensionFields fields_of(const BlockedShape& shape) {
  DimensionFields fields{};
  fields.rank = static_cast<uint32_t>(shape.size());
  for (size_t d = 0; d < kMaxRank; ++d) {
    const BlockedDimension dimension = d < shape.size() ? shape[d] : BlockedDimension{};
    fields.sizes[d] = u32(dimension.side);
    fields.blocks[d] = u32(dimension.block);
    fields.strides[d] = static_cast<int32_t>(dimension.stride);
    fields.parameter_strides[d] = u32(dimension.parameter_stride);
  }
  return fields;
}

}  // namespace qgen
