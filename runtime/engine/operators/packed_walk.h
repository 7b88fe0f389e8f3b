// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The problem fields of kernels on tiles of packed layouts: sizes, strides, and the order of invocations.
//
//   const Walk walk = walk_of(shape, {.written = output.layout, .read = input.layout});
//   generated::q8ta_clone::Problem{.sides = walk.sides, .input_strides = block_strides(shape, input.layout), ...};
//
// A box has 64 tiles. Its dimensions are powers of two, chosen so that few tiles are outside the tensor and each row of
// tiles is long in memory. In a transposition, boxes have 8 x 8 tiles of 4 x 4 elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "boxes_fields.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"
#include "walked_axes_fields.h"

namespace qgen {

struct WalkedLayouts {
  Layout written, read;
  // Bytes of four neighbours along the first axis of the iteration in the written memory, or along the second in the
  // read memory.
  uint32_t written_bytes = 4;
  uint32_t read_bytes = 4;
};
// The part of a tile with four neighbouring words in memory: 16 bytes if blocks or the order of words allow it, else
// one word.
uint32_t bytes_in_a_row(Layout layout);

struct Walk {
  std::array<uint32_t, kDims> sides;
  uint32_t axes;
  uint32_t boxes;
  std::array<uint32_t, 3> box_shifts;
  std::array<uint32_t, 9> dividers;
};
// Of a shape with fewer than 2^32 elements. One without elements has no boxes.
Walk walk_of(const Shape& shape, const WalkedLayouts& layouts);

// The first three dimensions of walk(), in the order of specs/lib/walked_axes.yaml.
uint32_t axes_of(Layout written, Layout read);

// The fields of the fragments walked_axes and boxes.
inline generated::fields::WalkedAxes axes_fields(const Walk& walk) { return {.axes = walk.axes}; }
inline generated::fields::Boxes boxes_fields(const Walk& walk) {
  return {.boxes = walk.boxes, .box_shifts = walk.box_shifts, .dividers = walk.dividers};
}

// Numbers that fit, as fields of a Problem hold them.
template <size_t N>
std::array<uint32_t, N> in_words(const std::array<int64_t, N>& numbers) {
  std::array<uint32_t, N> words{};
  std::ranges::transform(numbers, words.begin(), u32);
  return words;
}

// Strides between blocks, by Dim.
std::array<uint32_t, kDims> block_strides(const Shape& shape, Layout layout);

// Bytes on both sides.
WalkedLayouts between(Layout written, Layout read);

// Sixteen-byte pieces of a tensor whose bytes can be copied unchanged; 0 if its padding must be computed. The end of a
// plain buffer is rounding, and nobody's.
uint32_t flat_blocks_of(const Shape& shape, Layout layout);

}  // namespace qgen
