// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Caches of keys and values [B, N, C, D], which have room for C keys of each batch. Or in blocks [blocks, N, K, D],
// which a table [B, G] finds: key k of a batch is key k % K of block table[batch, k / K].
#pragma once

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "block_table_fields.h"
#include "runtime/engine/calls/placement.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {

struct CacheRows {
  int64_t capacity;  // in keys of a batch
  int64_t stored;    // keys of a head, of all batches
};
inline CacheRows rows_in(const TensorDesc& cache) { return {cache.shape[2], cache.shape[0] * cache.shape[2]}; }

struct CacheBlocks : CacheRows {
  fields::BlockTable table;
};
// `side`: the dimension of `cache` that counts the keys of a block. Errors: it is no power of two, or a row of the
// table has room for too many keys. Without blocks there is no room.
inline Expected<CacheBlocks> blocks_in(const TensorDesc& cache, const TensorDesc& table, size_t side = 2) {
  const int64_t blocks = cache.shape[0], size = cache.shape[side], blocks_of_row = table.shape[1];
  if (!std::has_single_bit(static_cast<uint64_t>(size)))
    return refused(fmt::format("a block has room for {} keys", size), "it must be a power of two");
  const int64_t capacity = blocks == 0 ? 0 : blocks_of_row * size;
  constexpr int64_t kMostKeys = std::numeric_limits<int32_t>::max();
  if (capacity > kMostKeys)
    return refused(fmt::format("a row of blocks has room for {} keys, and can have room for {}", capacity, kMostKeys));
  return CacheBlocks{{capacity, blocks * size},
                     {.block_size = u32(size), .blocks_per_row = u32(blocks_of_row), .block_count = u32(blocks)}};
}

inline Done check_room(int64_t rows, const CacheRows& cache) {
  if (rows <= cache.capacity) return std::monostate{};
  return refused(fmt::format("there are {} new rows, and the cache has room for {}", rows, cache.capacity));
}

}  // namespace qgen::generated::operators
