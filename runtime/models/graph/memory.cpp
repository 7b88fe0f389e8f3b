// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

namespace qgen::graph {
namespace {

constexpr size_t kMostSwaps = 300;
// Pairs that live at the same time and are examined in all swaps together: under a second.
constexpr size_t kMostLooks = size_t{1} << 25;
// Pairs that are kept: 64 MiB.
constexpr size_t kMostPairs = size_t{1} << 23;

// The most that lives at one step.
uint64_t bound_of(std::span<const Lifetime> tensors) {
  uint32_t steps = 0;
  for (const Lifetime& tensor : tensors) steps = std::max(steps, tensor.last + 1);
  std::vector<int64_t> change(steps + 1);
  for (const Lifetime& tensor : tensors) {
    change[tensor.first] += static_cast<int64_t>(tensor.bytes);
    change[tensor.last + 1] -= static_cast<int64_t>(tensor.bytes);
  }
  int64_t live = 0, most = 0;
  for (const int64_t step : change) most = std::max(most, live += step);
  return static_cast<uint64_t>(most);
}

std::vector<uint32_t> sorted_tensors(std::span<const Lifetime> tensors, auto less) {
  std::vector<uint32_t> order;
  for (uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (tensors[tensor].bytes > 0) order.push_back(tensor);
  }
  std::ranges::stable_sort(order, less, [&](uint32_t tensor) { return tensors[tensor]; });
  return order;
}

std::vector<uint32_t> by_begin(std::span<const Lifetime> tensors) {
  return sorted_tensors(tensors, [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
}

// ---- by size --------------------------------------------------------------------------------------------------------

using Neighbours = std::vector<std::vector<uint32_t>>;

// Of each tensor those that live at the same time; nullopt: they are too many to keep.
std::optional<Neighbours> neighbours_of(std::span<const Lifetime> tensors) {
  Neighbours neighbours(tensors.size());
  std::vector<uint32_t> live;
  size_t pairs = 0;
  for (const uint32_t tensor : by_begin(tensors)) {
    std::erase_if(live, [&](uint32_t other) { return tensors[other].last < tensors[tensor].first; });
    if ((pairs += live.size()) > kMostPairs) return std::nullopt;
    for (const uint32_t other : live) {
      neighbours[tensor].push_back(other);
      neighbours[other].push_back(tensor);
    }
    live.push_back(tensor);
  }
  return neighbours;
}

// Where a tensor of `bytes` begins in free memory from `begin` on, if no tensor may be in two buffers.
uint64_t within_a_buffer(uint64_t begin, uint64_t bytes, uint64_t buffer_bytes) {
  if (buffer_bytes == 0 || begin / buffer_bytes == (begin + bytes - 1) / buffer_bytes) return begin;
  return aligned(begin, buffer_bytes);
}

class Arena {
 public:
  Arena(std::span<const Lifetime> tensors, Neighbours neighbours, uint64_t buffer_bytes)
      : tensors_(tensors), neighbours_(std::move(neighbours)), buffer_bytes_(buffer_bytes), offsets_(tensors.size()) {}

  // Places all in this order, and gives the arena's size.
  uint64_t place(std::span<const uint32_t> order) {
    is_placed_.assign(tensors_.size(), false);
    uint64_t end = 0;
    for (const uint32_t tensor : order) {
      offsets_[tensor] = place_for(tensor);
      is_placed_[tensor] = true;
      end = std::max(end, offsets_[tensor] + tensors_[tensor].bytes);
    }
    return end;
  }

  const std::vector<uint64_t>& offsets() const { return offsets_; }

  // How often place() looks at a tensor.
  size_t looks() const {
    return std::accumulate(neighbours_.begin(), neighbours_.end(), neighbours_.size(),
                           [](size_t sum, const auto& list) { return sum + list.size(); });
  }

 private:
  uint64_t place_for(uint32_t tensor) {
    taken_.clear();
    for (const uint32_t other : neighbours_[tensor]) {
      if (is_placed_[other]) taken_.emplace_back(offsets_[other], offsets_[other] + tensors_[other].bytes);
    }
    std::ranges::sort(taken_);
    const uint64_t bytes = tensors_[tensor].bytes;
    uint64_t best = 0, best_gap = std::numeric_limits<uint64_t>::max(), free_from = 0;
    for (const auto& [begin, end] : taken_) {
      const uint64_t first = within_a_buffer(free_from, bytes, buffer_bytes_);
      if (begin >= first + bytes && begin - free_from < best_gap) {
        best = first;
        best_gap = begin - free_from;
      }
      free_from = std::max(free_from, end);
    }
    if (best_gap != std::numeric_limits<uint64_t>::max()) return best;
    return within_a_buffer(free_from, bytes, buffer_bytes_);
  }

  std::span<const Lifetime> tensors_;
  Neighbours neighbours_;
  uint64_t buffer_bytes_;
  std::vector<uint64_t> offsets_;
  std::vector<bool> is_placed_;
  std::vector<std::pair<uint64_t, uint64_t>> taken_;  // from, to; of one placement
};

void place_by_size(std::span<const Lifetime> tensors, Neighbours neighbours, MemoryPlan& plan) {
  std::vector<uint32_t> order =
      sorted_tensors(tensors, [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; });
  Arena arena(tensors, std::move(neighbours), plan.buffer_bytes);
  plan.bytes = arena.place(order);
  plan.offsets = arena.offsets();
  const size_t most_swaps = std::min(kMostSwaps, kMostLooks / std::max<size_t>(arena.looks(), 1));
  std::minstd_rand random(1);  // the same on every machine
  for (size_t swap = 0; swap < most_swaps && plan.bytes > plan.lower_bound; ++swap) {
    const size_t a = random() % order.size(), b = random() % order.size();
    std::swap(order[a], order[b]);
    const uint64_t bytes = arena.place(order);
    if (bytes > plan.bytes) {
      std::swap(order[a], order[b]);
    } else {
      plan.bytes = bytes;
      plan.offsets = arena.offsets();
    }
  }
}

// ---- by time --------------------------------------------------------------------------------------------------------

// The free bytes, below an end that grows when no free run is large enough.
class Gaps {
 public:
  explicit Gaps(uint64_t buffer_bytes) : buffer_bytes_(buffer_bytes) {}

  // In the smallest run that holds them.
  uint64_t take(uint64_t bytes) {
    for (auto found = by_size_.lower_bound({bytes, 0}); found != by_size_.end(); ++found) {
      const auto [size, from] = *found;
      const uint64_t begin = within_a_buffer(from, bytes, buffer_bytes_);
      if (begin + bytes > from + size) continue;
      remove(from, size);
      if (begin > from) add(from, begin - from);
      if (from + size > begin + bytes) add(begin + bytes, from + size - begin - bytes);
      return begin;
    }
    uint64_t from = end_;
    if (!by_begin_.empty() && by_begin_.rbegin()->first + by_begin_.rbegin()->second == end_) {
      from = by_begin_.rbegin()->first;
      remove(from, end_ - from);
    }
    const uint64_t begin = within_a_buffer(from, bytes, buffer_bytes_);
    if (begin > from) add(from, begin - from);
    end_ = begin + bytes;
    return begin;
  }

  // Joins it to the adjacent runs.
  void give(uint64_t begin, uint64_t bytes) {
    auto after = by_begin_.lower_bound(begin);
    if (after != by_begin_.end() && after->first == begin + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
      after = by_begin_.lower_bound(begin);
    }
    if (after != by_begin_.begin()) {
      const auto [before, size] = *std::prev(after);
      if (before + size == begin) {
        remove(before, size);
        begin = before;
        bytes += size;
      }
    }
    add(begin, bytes);
  }

  uint64_t end() const { return end_; }

 private:
  void add(uint64_t begin, uint64_t size) {
    by_begin_.emplace(begin, size);
    by_size_.emplace(size, begin);
  }
  void remove(uint64_t begin, uint64_t size) {
    by_begin_.erase(begin);
    by_size_.erase({size, begin});
  }

  std::map<uint64_t, uint64_t> by_begin_;            // sizes
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, begin
  uint64_t buffer_bytes_;
  uint64_t end_ = 0;
};

void place_by_time(std::span<const Lifetime> tensors, MemoryPlan& plan) {
  Gaps gaps(plan.buffer_bytes);
  std::set<std::pair<uint32_t, uint32_t>> live;  // last step, tensor
  plan.offsets.resize(tensors.size());
  for (const uint32_t tensor : by_begin(tensors)) {
    while (!live.empty() && live.begin()->first < tensors[tensor].first) {
      const uint32_t gone = live.begin()->second;
      gaps.give(plan.offsets[gone], tensors[gone].bytes);
      live.erase(live.begin());
    }
    plan.offsets[tensor] = gaps.take(tensors[tensor].bytes);
    live.emplace(tensors[tensor].last, tensor);
  }
  plan.bytes = gaps.end();
}

void place_all(std::span<const Lifetime> tensors, MemoryPlan& plan) {
  if (auto neighbours = neighbours_of(tensors)) place_by_size(tensors, *std::move(neighbours), plan);
  else place_by_time(tensors, plan);
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> tensors, uint64_t alignment, uint64_t most_bytes) {
  std::vector<Lifetime> rounded(tensors.begin(), tensors.end());
  for (Lifetime& tensor : rounded) tensor.bytes = aligned(tensor.bytes, alignment);
  MemoryPlan plan;
  uint64_t largest = 0;
  plan.lower_bound = bound_of(rounded);
  for (const Lifetime& tensor : rounded) {
    plan.naive += tensor.bytes;
    largest = std::max(largest, tensor.bytes);
  }
  place_all(rounded, plan);
  if (plan.bytes <= most_bytes) return plan;
  plan.buffer_bytes = std::max(most_bytes / alignment * alignment, largest);
  place_all(rounded, plan);
  if (plan.bytes <= plan.buffer_bytes) plan.buffer_bytes = 0;
  return plan;
}

}  // namespace qgen::graph
