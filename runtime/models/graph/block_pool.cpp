// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/block_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "vocabulary/integer.h"

namespace qgen::graph {

Done BlockPool::check(std::span<const int64_t> lengths) const {
  const Integer needed = std::accumulate(lengths.begin(), lengths.end(), Integer(0), [&](Integer sum, int64_t length) {
    return sum + ceil_div(length, blocks_.size);
  });
  if (needed <= Integer(blocks_.count)) return std::monostate{};
  return refused(fmt::format("the pool has {} blocks of {} tokens, and the sequences need {} blocks", blocks_.count,
                             blocks_.size, needed.value),
                 "more blocks, or fewer tokens");
}

Done BlockPool::grow(std::span<const int64_t> lengths) {
  if (Done enough = check(lengths); !enough) return enough;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::vector<int32_t>& blocks = of_sequences_[i];
    while (std::ssize(blocks) * blocks_.size < lengths[i]) blocks.push_back(used_++);
  }
  return std::monostate{};
}

HostTensor BlockPool::table(int64_t per_sequence) const {
  HostTensor table = zeros(DType::i32, {std::ssize(of_sequences_), per_sequence});
  std::ranges::fill(table.as<int32_t>(), -1);
  for (size_t i = 0; i < of_sequences_.size(); ++i)
    std::ranges::copy(of_sequences_[i],
                      table.as<int32_t>().begin() + static_cast<ptrdiff_t>(i) * static_cast<ptrdiff_t>(per_sequence));
  return table;
}

}  // namespace qgen::graph
