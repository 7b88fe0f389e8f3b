// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Places tensors in one arena, so that tensors that live at the same time do not overlap. Pure.
//
//   const MemoryPlan plan = plan_memory({{4096, 0, 1}, {1024, 1, 2}, {4096, 2, 3}}, 256);
//   plan.offsets       // {0, 4096, 0}
//   plan.bytes         // 5120: also the bound
//
// Greedy by size: each tensor, the largest first, goes into the smallest gap that holds it, between the placed tensors
// that live at the same time. If the result is above the bound, a few hundred orders with two tensors swapped are tried
// (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). With more than some thousand
// tensors there are fewer tries, so that it ends within a second. If millions of pairs live at the same time, tensors
// are placed in the order of time instead, each into the smallest gap.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace qgen::graph {

struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0;  // steps, both included
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one a tensor, multiples of the alignment
  uint64_t bytes = 0;             // of the arena
  // The arena is several buffers of this size, the last of which may be smaller, and no tensor is in two of them.
  // 0: it is one buffer.
  uint64_t buffer_bytes = 0;
  uint64_t lower_bound = 0;  // the most bytes that live at one step: no arena is smaller
  uint64_t naive = 0;        // each tensor in separate memory
};

constexpr uint64_t aligned(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Sizes are rounded up to the alignment first. An arena of more than `most_bytes` is cut into buffers of `most_bytes`, or
// of the largest tensor if that is larger.
MemoryPlan plan_memory(std::span<const Lifetime> tensors, uint64_t alignment,
                       uint64_t most_bytes = std::numeric_limits<uint64_t>::max());

}  // namespace qgen::graph
