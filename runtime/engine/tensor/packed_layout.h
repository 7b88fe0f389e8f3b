// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offsets of a tensor's elements in a packed layout (a row of vocabulary/layouts.h), and the conversion from and to
// row-major order on the host.
//
//   PackedLayout l = packed_layout({1, 6, 3, 5}, info(Layout::packed_4w4c).dims);
//   l.padded                     // width 8, height 3, channels 8, batch 1
//   l.strides                    // width 2, height 4, channels 1, batch 12: in blocks of 4 W x 4 C
//   l.offset({4, 2, 5, 0})       // of (n 0, c 5, h 2, w 4): element 177
//   l.elements()                 // 192
//
// A shape of fewer than three dimensions has sides of 1 before them; dimensions before the last three count as one, the
// batch. So every rank up to 8 has a place, and a vector in a layout that packs channels takes a word for each element.
// Padding is zero after pack_elements(), and not read by unpack_elements().
#pragma once

#include <array>
#include <span>

#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/layouts.h"

namespace qgen {

// Indexed by Dim: width, height, channels, batch.
using Sides = std::array<int64_t, kDims>;

Sides sides_of(const Shape& shape);  // saturates

struct PackedLayout {
  PackedDimInfo dims;
  Sides sides;
  Sides padded;   // rounded up to whole blocks
  Sides strides;  // from block to block; for a dimension without elements, the stride of the next faster one

  int64_t elements() const;  // padding too; saturates
  // The place of the element at a coordinate within `padded`.
  int64_t offset(const Sides& at) const {
    int64_t block = 0;
    for (size_t d = 0; d < kDims; ++d) block += at[d] / dims.block_of(static_cast<Dim>(d)) * strides[d];
    const int64_t row = at[index(dims.outer)] % dims.outer_block;
    return (block * dims.outer_block + row) * dims.block + at[index(dims.packed)] % dims.block;
  }
};

// Functions with a shape expect one that check_shape() allows.
PackedLayout packed_layout(const Shape& shape, const PackedDimInfo& dims);

// Row-major <-> packed. `packed` holds elements() elements of the tensor's dtype.
void pack_elements(const HostTensor& from, const PackedDimInfo& dims, std::span<std::byte> packed);
void unpack_elements(std::span<const std::byte> packed, const PackedDimInfo& dims, HostTensor& to);

}  // namespace qgen
