// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/graph/memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace qgen::graph {
namespace {

constexpr int kMostSwaps = 300;

bool live_together(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

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

class Arena {
 public:
  explicit Arena(std::span<const Lifetime> tensors) : tensors_(tensors), offsets_(tensors.size()) {}

  // Places all in this order, and gives the arena's size.
  uint64_t place(std::span<const uint32_t> order) {
    placed_.clear();
    uint64_t end = 0;
    for (const uint32_t tensor : order) end = std::max(end, place(tensor) + tensors_[tensor].bytes);
    return end;
  }

  const std::vector<uint64_t>& offsets() const { return offsets_; }

 private:
  uint64_t place(uint32_t tensor) {
    const uint64_t bytes = tensors_[tensor].bytes;
    uint64_t best = 0, best_gap = std::numeric_limits<uint64_t>::max(), free_from = 0;
    for (const uint32_t other : placed_) {
      if (!live_together(tensors_[tensor], tensors_[other])) continue;
      const uint64_t begin = offsets_[other];
      if (begin >= free_from + bytes && begin - free_from < best_gap) {
        best = free_from;
        best_gap = begin - free_from;
      }
      free_from = std::max(free_from, begin + tensors_[other].bytes);
    }
    offsets_[tensor] = best_gap == std::numeric_limits<uint64_t>::max() ? free_from : best;
    placed_.insert(std::ranges::upper_bound(placed_, offsets_[tensor], {}, [&](uint32_t t) { return offsets_[t]; }),
                   tensor);
    return offsets_[tensor];
  }

  std::span<const Lifetime> tensors_;
  std::vector<uint64_t> offsets_;
  std::vector<uint32_t> placed_;  // by offset
};

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> tensors, uint64_t alignment) {
  std::vector<Lifetime> rounded(tensors.begin(), tensors.end());
  for (Lifetime& tensor : rounded) tensor.bytes = aligned(tensor.bytes, alignment);
  std::vector<uint32_t> order(rounded.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater(), [&](uint32_t tensor) { return rounded[tensor].bytes; });

  Arena arena(rounded);
  MemoryPlan plan{.bytes = arena.place(order), .lower_bound = bound_of(rounded)};
  plan.offsets = arena.offsets();
  for (const Lifetime& tensor : rounded) plan.naive += tensor.bytes;

  std::minstd_rand random(1);  // the same on every machine
  for (int swap = 0; swap < kMostSwaps && plan.bytes > plan.lower_bound; ++swap) {
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
  return plan;
}

}  // namespace qgen::graph
