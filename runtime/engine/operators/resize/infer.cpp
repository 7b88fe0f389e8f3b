// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/resize and of q8ta_resize2d: the places of docs/resize.md as fractions of integers, so that every
// kernel finds the same pixels.
#include <fmt/format.h>

#include "operators.h"
#include "q8ta_resize2d.h"
#include "resize2d.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/operators/packed_walk.h"
#include "runtime/engine/operators/same_as.h"
#include "runtime/engine/operators/window.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// floor((place * step + offset) / denominator), where that is not below 0.
struct Source {
  int64_t step, offset, denominator;
};

Source source_of(CoordinateMode mode, int64_t side, int64_t made) {
  switch (mode) {
    case CoordinateMode::half_pixel: return {2 * side, side - made, 2 * made};  // (place + 1/2) * side / made - 1/2
    case CoordinateMode::align_corners: return made == 1 ? Source{0, 0, 1} : Source{side - 1, 0, made - 1};
    case CoordinateMode::asymmetric: return {side, 0, made};
  }
  return {};
}

// Rounded to an integer, where source_of() is rounded down.
Source nearest(const Source& source, NearestMode mode) {
  const auto [step, offset, denominator] = source;
  switch (mode) {
    case NearestMode::floor: return source;
    case NearestMode::ceil: return {step, offset + denominator - 1, denominator};
    case NearestMode::round_prefer_ceil: return {2 * step, 2 * offset + denominator, 2 * denominator};
    case NearestMode::round_prefer_floor: return {2 * step, 2 * offset + denominator - 1, 2 * denominator};
  }
  return source;
}

constexpr int64_t kMostPlaces = int64_t{1} << 29;  // input side times output side, so that fractions have 31 bits

struct Resize {
  TensorDesc output;
  std::array<Source, 2> sources;  // by Axis
};

Expected<Resize> read_resize(const TensorDesc& input, const auto& attributes, const Representation& representation,
                             bool is_nearest) {
  const std::vector<int64_t>& sizes = attributes.sizes;
  if (sizes.size() != 2)
    return refused(fmt::format("sizes has {} numbers, and needs two: [height, width]", sizes.size()));
  Resize resize{{input.dtype,
                 {input.shape[0], input.shape[1], sizes[0], sizes[1]},
                 representation.storage,
                 representation.layout},
                {}};
  for (const size_t axis : {kAlongWidth, kAlongHeight}) {
    const int64_t side = input.shape[3 - axis], made = sizes[1 - axis];
    if (side < 1 || made < 1 || (Integer(side) * made).value > kMostPlaces) {
      return refused(fmt::format("{} changes from {} to {}: both must be at least 1, and their product at most {}",
                                 axis == kAlongWidth ? "a width" : "a height", side, made, kMostPlaces));
    }
    const Source source = source_of(attributes.coordinate_mode, side, made);
    resize.sources[axis] = is_nearest ? nearest(source, attributes.nearest_mode) : source;
  }
  if (Done size = check_size("output", resize.output); !size) return size.error();
  return resize;
}

fields::ResizeAxes axes_fields(const TensorDesc& input, const Resize& resize) {
  const auto& [along_width, along_height] = resize.sources;
  return {.source_sides = std::array{u32(input.shape[3]), u32(input.shape[2])},
          .source_step = std::array{u32(along_width.step), u32(along_height.step)},
          .source_offset = std::array{static_cast<int32_t>(along_width.offset),  //
                                      static_cast<int32_t>(along_height.offset)}};
}

}  // namespace

Expected<Call> infer(const Resize2dInputs<Described>& inputs, const Resize2dAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const bool is_nearest = attributes.mode == ResizeMode::nearest;
  const auto resize = read_resize(input, attributes, Representation{}, is_nearest);
  if (!resize) return resize.error();
  const auto& [output, sources] = *resize;
  const resize2d::Problem fields{
      .numel = u32(element_count(output.shape)),
      .mode = attributes.mode,
      .dividers = divider_words(output.shape[3], output.shape[2], sources[0].denominator, sources[1].denominator),
      .source_reciprocal = std::array{1.0f / static_cast<float>(sources[0].denominator),
                                      1.0f / static_cast<float>(sources[1].denominator)},
      .resize_axes = axes_fields(input, *resize),
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const Q8taResize2dInputs<Described>& inputs, const Q8taResize2dAttributes& attributes,
                     const Q8taResize2dRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const auto resize = read_resize(input, attributes, *representations.output, true);
  if (!resize) return resize.error();
  const auto& [output, sources] = *resize;
  if (Done same = check_same_layout("input", input, "output", output); !same) return same.error();
  const Walk walk = walk_of(output.shape, between(output.layout, input.layout));
  const q8ta_resize2d::Problem fields{
      .walked_axes = axes_fields(walk),
      .sides = walk.sides,
      .input_sides = image_sides(input.shape),
      .input_strides = block_strides(input.shape, input.layout),
      .output_strides = block_strides(output.shape, output.layout),
      .boxes = walk.boxes,
      .box_shifts = walk.box_shifts,
      .dividers = joined(walk.dividers, divider_words(sources[0].denominator, sources[1].denominator)),
      .resize_axes = axes_fields(input, *resize),
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
