// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where a cache [B, M, C, D] has the keys of a batch, or a cache [P, M, K, D] in blocks that the table `blocks` finds.
#pragma once

#include <optional>

#include "runtime/engine/calls/attributes.h"

namespace qgen::reference {

// The row of each head of matrix `matrix` of the cache.
struct CacheSlot {
  int64_t matrix = 0, row = 0;
};

inline int64_t capacity_of(const Request& request, const Shape& cache) {
  const HostTensor* blocks = find_input(request, "blocks");
  if (!blocks) return cache[2];
  return cache[0] == 0 ? 0 : blocks->shape[1] * cache[2];
}

inline std::optional<CacheSlot> slot_of(const Request& request, const Shape& cache, int64_t batch, int64_t position) {
  if (position >= capacity_of(request, cache)) return std::nullopt;
  const HostTensor* blocks = find_input(request, "blocks");
  if (!blocks) return CacheSlot{batch, position};
  const auto block = static_cast<int64_t>(element(*blocks, batch * blocks->shape[1] + position / cache[2]));
  if (block < 0 || block >= cache[0]) return std::nullopt;
  return CacheSlot{block, position % cache[2]};
}

}  // namespace qgen::reference
