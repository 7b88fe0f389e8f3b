// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/block_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vocabulary/integer.h"

namespace qgen::graph {

void BlockPool::end(size_t sequence) {
  has_ended_[sequence] = true;
  const std::vector<int32_t> blocks = std::exchange(of_sequences_[sequence], {});
  given_.insert(given_.end(), blocks.begin(), blocks.end());
}

Done BlockPool::check(std::span<const int64_t> lengths) const {
  Integer needed(0);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!has_ended_[i]) needed = needed + ceil_div(lengths[i], blocks_.size);
  }
  if (needed <= Integer(blocks_.count)) return std::monostate{};
  return refused(fmt::format("the pool has {} blocks of {} tokens, and the sequences need {} blocks", blocks_.count,
                             blocks_.size, needed.value),
                 "more blocks, or fewer tokens");
}

Done BlockPool::grow(std::span<const int64_t> lengths) {
  if (Done enough = check(lengths); !enough) return enough;
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::vector<int32_t>& blocks = of_sequences_[i];
    while (!has_ended_[i] && std::ssize(blocks) * blocks_.size < lengths[i]) blocks.push_back(take());
  }
  return std::monostate{};
}

int32_t BlockPool::take() {
  if (given_.empty()) return used_++;
  const int32_t block = given_.back();
  given_.pop_back();
  return block;
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
