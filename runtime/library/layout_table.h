// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every way in which elements lie in memory, a row of layout_rows.inc each. All that qgen knows of a layout is computed
// from its row: host packing and addresses (runtime/tensor/packed_layout.h), the GLSL that reads and writes it
// (codegen/render/packed_operand.h), the words of the spec language, padding, which layouts go together, and in which a
// plan may put a tensor (runtime/planner/representation.h).
//
// A layout counts dimensions from the innermost: width, height and channels are the last three of a shape, and all that
// come before them are one batch. It cuts a tensor into blocks of `block` elements along one dimension, `packed`, and
// `outer_block` along another, `outer`. Bytes of packed layouts come in words: `block` is 4.
//
//   in a block      [outer_block][block]
//   of blocks       the other two dimensions from the outermost, then outer, then packed; packed before outer if
//                   `is_transposed`
//
//   packed_4w4c     [N][H][W/4][C/4] [4 W][4 C]
//   packed_4c1w     [N][H][C/4][W]        [4 C]
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/library/kernel_info.h"

namespace qgen {

enum class Dim : uint8_t { width, height, channels, batch };
constexpr size_t kDims = 4;
constexpr size_t index(Dim dim) { return static_cast<size_t>(dim); }

struct PackedDimInfo {
  Dim packed;
  uint8_t block;
  Dim outer;
  uint8_t outer_block;
  bool is_transposed = false;

  constexpr int64_t block_elements() const { return int64_t{block} * outer_block; }
  // Along a dimension: how many elements a block has of it.
  constexpr uint8_t block_of(Dim dim) const { return dim == packed ? block : dim == outer ? outer_block : 1; }
  // The dimension along which one block follows another in memory.
  constexpr Dim fastest() const { return is_transposed ? outer : packed; }
  // The dimensions of blocks, from the slowest to the fastest.
  constexpr std::array<Dim, kDims> order() const {
    std::array<Dim, kDims> result{};
    size_t next = 0;
    for (size_t i = kDims; i-- > 0;) {
      const Dim dim = static_cast<Dim>(i);
      if (dim != packed && dim != outer) result[next++] = dim;
    }
    result[next++] = is_transposed ? packed : outer;
    result[next] = fastest();
    return result;
  }
};

struct LayoutInfo {
  Layout layout;
  std::string_view name;
  Storage storage;
  PackedDimInfo dims;  // unused of weights: WeightForm has what there is to know
  bool is_weight = false;

  constexpr bool is_packed_bytes() const { return storage == Storage::buffer && dims.block > 1; }
};

// By Layout, since both come from the same rows.
constexpr LayoutInfo kLayouts[] = {
#define QGEN_LAYOUT(name, storage, ...) {Layout::name, #name, Storage::storage, {__VA_ARGS__}},
#define QGEN_WEIGHT_LAYOUT(name, ...) {Layout::name, #name, Storage::buffer, {Dim::width, 1, Dim::height, 1}, true},
#include "runtime/library/layout_rows.inc"
};
constexpr size_t kLayoutCount = std::size(kLayouts);

constexpr const LayoutInfo& info(Layout layout) { return kLayouts[static_cast<size_t>(layout)]; }
// The number of the packed dimension: 0 width, 1 height, 2 channels. What specs and templates call packed(layout).
constexpr int64_t packed(Layout layout) { return static_cast<int64_t>(info(layout).dims.packed); }

// The layouts that tensors of any shape can lie in stand first; behind them those that hold weights.
constexpr size_t kTensorLayoutCount = [] {
  size_t count = 0;
  while (count < kLayoutCount && !kLayouts[count].is_weight) ++count;
  return count;
}();

constexpr bool is_sound_layout_table() {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const LayoutInfo& row = kLayouts[i];
    if (row.is_weight != (i >= kTensorLayoutCount) || row.dims.packed == row.dims.outer) return false;
    if (row.is_weight != row.name.starts_with("weight_")) return false;
    if (row.is_packed_bytes() != row.name.starts_with("packed_")) return false;
    if (row.dims.packed == Dim::batch || row.dims.outer == Dim::batch) return false;
    if (row.is_packed_bytes() && (row.dims.block != 4 || (row.dims.outer_block != 1 && row.dims.outer_block != 4))) {
      return false;
    }
  }
  return true;
}
static_assert(is_sound_layout_table(),
              "layouts of weights stand last, bytes are packed by words along two dimensions, and names tell both");
static_assert(kLayoutCount <= 32, "OperandForm::layouts has a bit for each");

// The first layout of a mask; nullopt of one that holds none.
constexpr std::optional<Layout> first_layout(uint32_t mask) {
  const auto row = static_cast<size_t>(std::countr_zero(mask));
  return row < kLayoutCount ? std::optional(kLayouts[row].layout) : std::nullopt;
}

constexpr std::optional<Layout> find_layout(std::string_view word) {
  for (const LayoutInfo& row : kLayouts) {
    if (row.name == word) return row.layout;
  }
  return std::nullopt;
}

// Of a mask of layouts: where the spec says none, `strided` in a buffer and any packing in an image.
constexpr bool has_layout(uint32_t layouts, Storage storage, Layout layout) {
  if (layouts != 0) return (layouts & bit(layout)) != 0;
  return storage == Storage::texture3d || layout == Layout::strided;
}
constexpr bool takes(const OperandForm& form, DType dtype, Storage storage, Layout layout) {
  return form.dtype == dtype && form.storage == storage && has_layout(form.layouts, storage, layout);
}

// ---- two layouts at once --------------------------------------------------------------------------------------------
//
// A kernel that goes from one layout to another takes tiles: four elements along the packed dimension of the one, four
// `across`, and four along the `third` where a block of either reaches that way.

// The packed dimension of the other or, where they pack the same, the dimension that an outer block would have.
constexpr Dim across(Layout one, Layout other) {
  const Dim packed = info(one).dims.packed;
  const Dim second = info(other).dims.packed;
  if (second != packed) return second;
  return packed == Dim::width ? Dim::height : Dim::width;
}

// batch: no block reaches beyond the square.
constexpr Dim third(Layout one, Layout other) {
  for (const Layout layout : {one, other}) {
    const PackedDimInfo& dims = info(layout).dims;
    if (dims.outer_block > 1 && dims.outer != info(one).dims.packed && dims.outer != across(one, other))
      return dims.outer;
  }
  return Dim::batch;
}

// In which order invocations walk over tiles: first along what is fastest in memory where they write, then along what
// is fastest where they read, so that a rectangle of both has neighbours on either side.
constexpr std::array<Dim, kDims> walk(Layout written, Layout read) {
  const Dim first = info(written).dims.fastest();
  const Dim other = info(read).dims.fastest();
  const Dim second = other != first ? other : info(written).dims.order()[kDims - 2];
  for (const Dim dim : {Dim::width, Dim::height, Dim::channels}) {
    if (dim != first && dim != second) return {first, second, dim, Dim::batch};
  }
  return {};
}

}  // namespace qgen
