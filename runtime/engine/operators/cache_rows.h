// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Caches in blocks, which a table [B, G] finds: key k of a batch is key k % K of block table[batch, k / K].
#pragma once

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "block_table_fields.h"
#include "runtime/engine/calls/placement.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {

// How many keys a row of the table has room for; without blocks, none.
inline Expected<int64_t> checked_capacity(int64_t block_count, int64_t block_size, const TensorDesc& blocks) {
  if (!std::has_single_bit(static_cast<uint64_t>(block_size)))
    return refused(fmt::format("a block has room for {} keys", block_size), "it must be a power of two");
  const int64_t capacity = block_count == 0 ? 0 : blocks.shape[1] * block_size;
  constexpr int64_t kMostKeys = std::numeric_limits<int32_t>::max();
  if (capacity <= kMostKeys) return capacity;
  return refused(fmt::format("a row of blocks has room for {} keys, and can have room for {}", capacity, kMostKeys));
}

inline fields::BlockTable block_table_of(int64_t block_count, int64_t block_size, const TensorDesc& blocks) {
  return {
      .block_size = u32(block_size),
      .blocks_per_row = u32(blocks.shape[1]),
      .block_count = u32(block_count),
  };
}

}  // namespace qgen::generated::operators
