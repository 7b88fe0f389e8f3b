// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order of elements in a buffer or a texture. Each layout is a row of layout_rows.inc, and everything else is
// computed from this row: packing and addresses on the host (runtime/engine/tensor/packed_layout.h); the GLSL that
// reads and writes it (codegen/render/packed_operand.h); its name in the spec language; padding; compatible layouts;
// and the layouts that a plan may choose for a tensor (runtime/models/planner/representation.h).
//
// A layout counts dimensions from the innermost: width, height, channels, then one batch of all others. It divides a
// tensor into blocks of `block` elements along one dimension, `packed`, and `outer_block` along another, `outer`. In
// packed layouts `block` is 4: a 32-bit word of four bytes.
//
//   in a block      [outer_block][block]
//   of blocks       the other two dimensions from the outermost, then outer, then packed; packed before outer if
//                   `is_transposed`
//
//   packed_4w4c     [N][H][W/4][C/4] [4 W][4 C]
//   packed_4c1w     [N][H][C/4][W]        [4 C]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>

#include "vocabulary/rows.h"

namespace qgen {

enum class Storage : uint8_t { buffer, texture3d };

struct StorageInfo {
  Storage storage;
  std::string_view name;
};
constexpr StorageInfo kStorages[] = {{Storage::buffer, "buffer"}, {Storage::texture3d, "texture3d"}};
constexpr StorageInfo kNoStorage = {Storage{}, "?"};
constexpr std::string_view name(Storage storage) { return row_of(kStorages, storage, kNoStorage).name; }
constexpr uint32_t bit(Storage storage) { return bit_of<uint32_t>(storage); }
constexpr std::optional<Storage> find_storage(std::string_view word) {
  const StorageInfo* row = find_row(kStorages, &StorageInfo::name, word);
  return row ? std::optional(row->storage) : std::nullopt;
}
static_assert(std::ranges::all_of(kStorages,
                                  [](const StorageInfo& row) {
                                    return find_storage(name(row.storage)) == row.storage;
                                  }),
              "storages stand in the order of their enumeration");

// `strided` is a plain buffer addressed by strides, row-major by default. The layouts *_packed are textures with four
// elements along one dimension in a texel. packed_* are buffers of 8-bit integers in words of four along one dimension,
// some in blocks of four words. weight_* are buffers of matrices in the blocks of weight_forms.h.
enum class Layout : uint8_t {
#define QGEN_LAYOUT(name, storage, ...) name,
#define QGEN_WEIGHT_LAYOUT(name, ...) name,
#include "vocabulary/layout_rows.inc"
};

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
  PackedDimInfo dims;  // unused of weights: WeightForm has the details
  bool is_weight = false;

  constexpr bool is_packed_bytes() const { return storage == Storage::buffer && dims.block > 1; }
};

// By Layout, since both come from the same rows.
constexpr LayoutInfo kLayouts[] = {
#define QGEN_LAYOUT(name, storage, ...) {Layout::name, #name, Storage::storage, {__VA_ARGS__}},
#define QGEN_WEIGHT_LAYOUT(name, ...) {Layout::name, #name, Storage::buffer, {Dim::width, 1, Dim::height, 1}, true},
#include "vocabulary/layout_rows.inc"
};
constexpr size_t kLayoutCount = std::size(kLayouts);

constexpr LayoutInfo kNoLayout = {Layout{}, "?", Storage::buffer, {Dim::width, 1, Dim::height, 1}};

constexpr const LayoutInfo& info(Layout layout) { return row_of(kLayouts, layout, kNoLayout); }
constexpr std::string_view name(Layout layout) { return info(layout).name; }
constexpr uint32_t bit(Layout layout) { return bit_of<uint32_t>(layout); }
// The number of the packed dimension: 0 width, 1 height, 2 channels. The meaning of packed(layout) in specs and
// templates.
constexpr int64_t packed(Layout layout) { return static_cast<int64_t>(info(layout).dims.packed); }

// First the layouts for tensors of any shape, then those for weights.
constexpr size_t kTensorLayoutCount = [] {
  size_t count = 0;
  while (count < kLayoutCount && !kLayouts[count].is_weight) ++count;
  return count;
}();
constexpr bool holds_tensors(Layout layout) { return static_cast<size_t>(layout) < kTensorLayoutCount; }

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
  const auto* row = std::ranges::find_if(kLayouts, [mask](const LayoutInfo& l) { return (mask & bit(l.layout)) != 0; });
  return row == std::end(kLayouts) ? std::nullopt : std::optional(row->layout);
}

constexpr std::optional<Layout> find_layout(std::string_view word) {
  const LayoutInfo* row = find_row(kLayouts, &LayoutInfo::name, word);
  return row ? std::optional(row->layout) : std::nullopt;
}

// Of a mask of layouts: where the spec says none, `strided` in a buffer and any packing in an image.
constexpr bool has_layout(uint32_t layouts, Storage storage, Layout layout) {
  if (layouts != 0) return (layouts & bit(layout)) != 0;
  return storage == Storage::texture3d || layout == Layout::strided;
}

// Whether another layout of tensors has the same blocks in another order.
constexpr bool has_twin(Layout layout) {
  const auto blocks = [](const LayoutInfo& row) {
    const PackedDimInfo& dims = row.dims;
    return std::tuple(row.storage, dims.packed, dims.block, dims.outer_block > 1 ? dims.outer : Dim::batch,
                      dims.outer_block);
  };
  return info(layout).is_packed_bytes() && std::ranges::count(kLayouts, blocks(info(layout)), blocks) > 1;
}

// ---- two layouts at once --------------------------------------------------------------------------------------------
//
// A kernel that goes from one layout to another uses tiles: four elements along the packed dimension of the one, four
// `across`, and four along the `third` if a block of either has them.

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

// The order in which invocations visit tiles: first along the dimension that is fastest in the written memory, then
// along the one that is fastest in the read memory. A rectangle of both then has neighbours on either side.
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
