// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Conversion visits the tensor in row-major order. Along the width, the innermost dimension, offsets repeat with the
// block. A row's offsets come from a table that is made once, so an element costs one addition and one move.
#include "runtime/engine/tensor/packed_layout.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "vocabulary/integer.h"

namespace qgen {
namespace {

// Calls visit(row-major index of a row's first element, place of the coordinate (0, h, c, n)) for every row.
template <typename Visit>
void for_each_row(const PackedLayout& layout, Visit visit) {
  const Sides& sides = layout.sides;
  int64_t first = 0;
  for (int64_t n = 0; n < sides[index(Dim::batch)]; ++n) {
    for (int64_t c = 0; c < sides[index(Dim::channels)]; ++c) {
      for (int64_t h = 0; h < sides[index(Dim::height)]; ++h) {
        visit(first, layout.offset({0, h, c, n}));
        first += sides[index(Dim::width)];
      }
    }
  }
}

// Calls move(row-major index, place) for every element.
template <typename Move>
void for_each_element(const Shape& shape, const PackedDimInfo& dims, Move move) {
  if (element_count(shape) == 0) return;
  const PackedLayout layout = packed_layout(shape, dims);
  std::vector<int64_t> steps(static_cast<size_t>(layout.sides[index(Dim::width)]));
  for (size_t w = 0; w < steps.size(); ++w) steps[w] = layout.offset({static_cast<int64_t>(w), 0, 0, 0});
  for_each_row(layout, [&](int64_t first, int64_t place) {
    for (size_t w = 0; w < steps.size(); ++w) move(first + static_cast<int64_t>(w), place + steps[w]);
  });
}

// Calls copy with a constant element size, so that each memcpy becomes one move.
template <typename Copy>
void with_element_bytes(DType dtype, Copy copy) {
  switch (bytes(dtype)) {
    case 1: return copy(std::integral_constant<size_t, 1>());
    case 2: return copy(std::integral_constant<size_t, 2>());
    case 4: return copy(std::integral_constant<size_t, 4>());
  }
}

}  // namespace

Sides sides_of(const Shape& shape) {
  Sides sides{1, 1, 1, 1};
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t& side = sides[std::min(i, kDims - 1)];
    side = (Integer(side) * shape[shape.size() - 1 - i]).value;
  }
  return sides;
}

PackedLayout packed_layout(const Shape& shape, const PackedDimInfo& dims) {
  PackedLayout layout{dims, sides_of(shape), {}, {}};
  Sides blocks{};
  for (size_t d = 0; d < kDims; ++d) {
    const int64_t block = dims.block_of(static_cast<Dim>(d));
    blocks[d] = ceil_div(layout.sides[d], block).value;
    layout.padded[d] = (Integer(blocks[d]) * block).value;
  }
  const auto order = dims.order();
  Integer stride = 1;
  for (size_t i = kDims; i-- > 0;) {
    layout.strides[index(order[i])] = stride.value;
    stride = stride * std::max<int64_t>(blocks[index(order[i])], 1);
  }
  return layout;
}

int64_t PackedLayout::elements() const {
  Integer count = 1;
  if (std::find(padded.begin(), padded.end(), 0) != padded.end()) return 0;
  for (int64_t side : padded) count = count * side;
  return count.value;
}

void pack_elements(const HostTensor& from, const PackedDimInfo& dims, std::span<std::byte> packed) {
  std::fill(packed.begin(), packed.end(), std::byte{0});
  with_element_bytes(from.dtype, [&](auto size) {
    for_each_element(from.shape, dims, [&](int64_t element, int64_t place) {
      std::memcpy(packed.data() + place * size(), from.data.data() + element * size(), size());
    });
  });
}

void unpack_elements(std::span<const std::byte> packed, const PackedDimInfo& dims, HostTensor& to) {
  with_element_bytes(to.dtype, [&](auto size) {
    for_each_element(to.shape, dims, [&](int64_t element, int64_t place) {
      std::memcpy(to.data.data() + element * size(), packed.data() + place * size(), size());
    });
  });
}

}  // namespace qgen
