// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/packed_walk.h"

#include <algorithm>
#include <limits>

#include "runtime/engine/operators/divider.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen {
namespace {

constexpr int kBoxBits = 6;  // 64 tiles
constexpr int64_t kBlockBytes = 16;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Elements along a dimension that one tile has.
int64_t tile_side(const WalkedLayouts& layouts, Dim dim) {
  const bool is_deep = dim == third(layouts.written, layouts.read) && dim != Dim::batch;
  const bool is_flat = dim == info(layouts.written).dims.packed || dim == across(layouts.written, layouts.read);
  return is_deep || is_flat ? 4 : 1;
}

// Tiles along the three axes of the iteration; the batch is part of the last.
struct Counts {
  std::array<int64_t, 3> of;
  int64_t along_third;
};

Counts count_tiles(const Sides& sides, const WalkedLayouts& layouts) {
  const auto axes = walk(layouts.written, layouts.read);
  const auto tiles = [&](Dim dim) { return ceil_div(sides[index(dim)], tile_side(layouts, dim)); };
  const int64_t along_third = tiles(axes[2]);
  return {{tiles(axes[0]), tiles(axes[1]), along_third * sides[index(Dim::batch)]}, along_third};
}

using Shifts = std::array<uint32_t, 3>;

int64_t boxes_along(const Counts& counts, const Shifts& shifts, size_t axis) {
  return ceil_div(counts.of[axis], int64_t{1} << shifts[axis]);
}

int64_t count_boxes(const Counts& counts, const Shifts& shifts) {
  return boxes_along(counts, shifts, 0) * boxes_along(counts, shifts, 1) * boxes_along(counts, shifts, 2);
}

// Bytes moved as memory counts them: a row that begins and ends within sectors of 32 bytes costs a quarter of one more.
double traffic(const Counts& counts, const Shifts& shifts, const WalkedLayouts& layouts) {
  const auto overhead = [&](size_t axis, uint32_t bytes) {
    const int64_t tiles = std::min(counts.of[axis], int64_t{1} << shifts[axis]);
    return 8.0 / static_cast<double>(tiles * bytes);
  };
  const bool is_one_axis = info(layouts.written).dims.fastest() == info(layouts.read).dims.fastest();
  const double written = overhead(0, layouts.written_bytes);
  const double read = overhead(is_one_axis ? 0 : 1, layouts.read_bytes);
  return static_cast<double>(count_boxes(counts, shifts)) * (2 + written + read);
}

Shifts best_shifts(const Counts& counts, const WalkedLayouts& layouts) {
  Shifts best{};
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t first = kBoxBits + 1; first-- > 0;) {
    for (uint32_t second = kBoxBits - first + 1; second-- > 0;) {
      const Shifts shifts{first, second, kBoxBits - first - second};
      const double bytes = traffic(counts, shifts, layouts);
      if (bytes >= least) continue;
      least = bytes;
      best = shifts;
    }
  }
  return best;
}

}  // namespace

uint32_t bytes_in_a_row(Layout layout) {
  const PackedDimInfo& dims = info(layout).dims;
  return dims.outer_block > 1 || dims.is_transposed ? 16 : 4;
}

WalkedLayouts between(Layout written, Layout read) {
  return {written, read, bytes_in_a_row(written), bytes_in_a_row(read)};
}

Walk walk_of(const Shape& shape, const WalkedLayouts& layouts) {
  const Sides sides = sides_of(shape);
  Walk result{
      .sides = in_words(sides), .axes = axes_of(layouts.written, layouts.read), .dividers = divider_words(1, 1, 1)};
  if (element_count(shape) == 0) return result;  // its other sides may be past 32 bits
  const Counts counts = count_tiles(sides, layouts);
  result.box_shifts = best_shifts(counts, layouts);
  result.boxes = u32(count_boxes(counts, result.box_shifts));
  result.dividers = divider_words(boxes_along(counts, result.box_shifts, 0), boxes_along(counts, result.box_shifts, 1),
                                  counts.along_third);
  return result;
}

uint32_t axes_of(Layout written, Layout read) {
  const auto axes = walk(written, read);
  return static_cast<uint32_t>(index(axes[0]) | index(axes[1]) << 2 | index(axes[2]) << 4);
}

std::array<uint32_t, kDims> block_strides(const Shape& shape, Layout layout) {
  return in_words(packed_layout(shape, info(layout).dims).strides);
}

uint32_t flat_blocks_of(const Shape& shape, Layout layout) {
  const PackedLayout packed = packed_layout(shape, info(layout).dims);
  if (packed.padded != packed.sides) return 0;
  return u32(ceil_div(packed.elements(), kBlockBytes));
}

}  // namespace qgen
