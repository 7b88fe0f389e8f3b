// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/movement/gather.yaml: which dimensions of the output are the input's and which the indices'.
// docs/movement.md has the formulas.
#include <fmt/format.h>

#include <algorithm>

#include "gather.h"
#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/axis.h"
#include "runtime/engine/operators/divider.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

struct Side {
  int64_t side, stride, index_stride;
};

// `sides`: the output's dimensions, outermost first.
Expected<Call> call_of(const TensorDesc& input, const TensorDesc& indices, size_t axis, std::vector<Side> sides) {
  TensorDesc output{input.dtype, {}};
  for (const Side& side : sides) output.shape.push_back(side.side);
  if (output.shape.size() > kMaxRank)
    return refused(fmt::format("the output has {} dimensions, and can have {}", output.shape.size(), kMaxRank));
  if (Done size = check_size("output", output); !size) return size.error();
  const auto numel = u32(element_count(output.shape));
  std::ranges::reverse(sides);
  if (numel == 0) sides.clear();  // some may be past 32 bits
  const gather::Problem fields{
      .numel = numel,
      .rank = static_cast<uint32_t>(sides.size()),
      .dividers = dividers_of(sides),
      .strides = numbers_of(sides, &Side::stride),
      .index_strides = numbers_of(sides, &Side::index_stride),
      .side = u32(input.shape[axis]),
      .axis_stride = u32(row_major_strides(input.shape)[axis]),
  };
  return make_call(fields, {.input = input, .indices = indices, .output = output});
}

}  // namespace

Expected<Call> infer(const GatherInputs<Described>& inputs, const GatherAttributes& attributes) {
  const TensorDesc &input = inputs.input, &indices = inputs.indices;
  const auto axis = dimension_of("axis is", attributes.axis, "input", input.shape);
  if (!axis) return axis.error();
  const Strides strides = row_major_strides(input.shape), index_strides = row_major_strides(indices.shape);
  std::vector<Side> sides;
  for (size_t d = 0; d < *axis; ++d) sides.push_back({input.shape[d], strides[d], 0});
  for (size_t d = 0; d < index_strides.size(); ++d) sides.push_back({indices.shape[d], 0, index_strides[d]});
  for (size_t d = *axis + 1; d < strides.size(); ++d) sides.push_back({input.shape[d], strides[d], 0});
  return call_of(input, indices, *axis, std::move(sides));
}

Expected<Call> infer(const GatherElementsInputs<Described>& inputs, const GatherElementsAttributes& attributes) {
  const TensorDesc &from = inputs.input, &places = inputs.indices;
  const Shape &input = from.shape, &indices = places.shape;
  const auto axis = dimension_of("axis is", attributes.axis, "input", input);
  if (!axis) return axis.error();
  bool fits = input.size() == indices.size();
  for (size_t d = 0; fits && d < input.size(); ++d) fits = d == *axis || indices[d] <= input[d];
  if (!fits)
    return refused(
        fmt::format("indices has shape {}, and input {}: they must have as many dimensions, and indices no "
                    "larger ones, except along axis {}",
                    to_text(indices), to_text(input), *axis));
  const Strides strides = row_major_strides(input), index_strides = row_major_strides(indices);
  std::vector<Side> sides;
  for (size_t d = 0; d < input.size(); ++d)
    sides.push_back({indices[d], d == *axis ? 0 : strides[d], index_strides[d]});
  return call_of(from, places, *axis, std::move(sides));
}

}  // namespace qgen::generated::operators
