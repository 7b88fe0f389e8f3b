// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors in one arena: those that live together never overlap, and the arena is as small as it can be where that is
// known.
#include "runtime/models/graph/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "common/sanitizers.h"

namespace qgen::graph {
namespace {

// Goes through time: tensors that begin to live must not overlap living ones.
void expect_sound(const std::vector<Lifetime>& tensors, const MemoryPlan& plan, uint64_t alignment) {
  ASSERT_EQ(plan.offsets.size(), tensors.size());
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return tensors[i].first; });
  std::map<uint64_t, size_t> live;  // by offset
  std::set<std::pair<uint32_t, size_t>> by_end;
  for (const size_t i : order) {
    while (!by_end.empty() && by_end.begin()->first < tensors[i].first) {
      live.erase(plan.offsets[by_end.begin()->second]);
      by_end.erase(by_end.begin());
    }
    const uint64_t begin = plan.offsets[i], end = begin + tensors[i].bytes;
    EXPECT_EQ(begin % alignment, 0u);
    EXPECT_LE(end, plan.bytes);
    const auto [at, is_new] = live.emplace(begin, i);
    ASSERT_TRUE(is_new) << i << " and " << at->second;
    if (at != live.begin()) {
      const size_t before = std::prev(at)->second;
      ASSERT_LE(plan.offsets[before] + tensors[before].bytes, begin) << i << " and " << before;
    }
    if (const auto after = std::next(at); after != live.end()) {
      ASSERT_LE(end, after->first) << i << " and " << after->second;
    }
    by_end.emplace(tensors[i].last, i);
  }
  EXPECT_GE(plan.bytes, plan.lower_bound);
  EXPECT_LE(plan.bytes, plan.naive);
}

std::vector<Lifetime> random_lifetimes(uint32_t seed, size_t count, uint32_t most_steps) {
  std::minstd_rand random(seed);
  std::vector<Lifetime> tensors(count);
  for (Lifetime& tensor : tensors) {
    tensor.first = static_cast<uint32_t>(random() % (count * 100 / 121));
    tensor.last = tensor.first + static_cast<uint32_t>(random() % most_steps);
    tensor.bytes = 256 * (1 + random() % 64);
  }
  return tensors;
}

TEST(Memory, OfNothing) {
  const MemoryPlan plan = plan_memory({}, 256);
  EXPECT_EQ(plan.bytes, 0u);
  EXPECT_EQ(plan.lower_bound, 0u);
}

TEST(Memory, OfAChain) {
  const std::vector<Lifetime> chain{{1024, 0, 1}, {512, 1, 2}, {1024, 2, 3}, {512, 3, 4}};
  const MemoryPlan plan = plan_memory(chain, 256);
  expect_sound(chain, plan, 256);
  EXPECT_EQ(plan.bytes, 1536u);
  EXPECT_EQ(plan.lower_bound, 1536u);
  EXPECT_EQ(plan.naive, 3072u);
}

TEST(Memory, RoundsSizesUp) {
  const std::vector<Lifetime> tensors{{1, 0, 0}, {257, 0, 0}};
  const MemoryPlan plan = plan_memory(tensors, 256);
  expect_sound(tensors, plan, 256);
  EXPECT_EQ(plan.bytes, 768u);
}

// The largest is placed first, and smaller ones find room next to it, in any order of the steps.
TEST(Memory, OfAResidualBlock) {
  const std::vector<Lifetime> block{{4096, 0, 3}, {1024, 0, 1}, {1024, 1, 2}, {4096, 2, 3}, {4096, 3, 4}};
  const MemoryPlan plan = plan_memory(block, 256);
  expect_sound(block, plan, 256);
  EXPECT_EQ(plan.bytes, plan.lower_bound);
}

TEST(Memory, OfRandomGraphsIsSoundAndNearTheBound) {
  constexpr uint32_t kGraphs = QGEN_SANITIZED ? 15 : 60;
  double sum = 0;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const std::vector<Lifetime> tensors = random_lifetimes(seed + 1, 121, 12);
    const MemoryPlan plan = plan_memory(tensors, 256);
    expect_sound(tensors, plan, 256);
    sum += static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound);
  }
  EXPECT_LT(sum / kGraphs, 1.05);
}

// Of as many nodes as a file may have: above the bound, so that swaps are tried, and yet it ends before CTest gives up.
TEST(Memory, OfManyTensorsEnds) {
  struct Row {
    uint32_t most_steps;
    double most_above_bound;
  };
  constexpr Row kRows[] = {
      {12, 1.1},    // by size
      {2000, 1.1},  // 10^8 pairs live together: by time
  };
  for (const Row& row : kRows) {
    const std::vector<Lifetime> tensors = random_lifetimes(1, 100'000, row.most_steps);
    const MemoryPlan plan = plan_memory(tensors, 256);
    expect_sound(tensors, plan, 256);
    EXPECT_GT(plan.bytes, plan.lower_bound) << row.most_steps;
    EXPECT_LT(static_cast<double>(plan.bytes), row.most_above_bound * static_cast<double>(plan.lower_bound));
  }
}

// No tensor is in two buffers, and little memory is lost at their ends.
TEST(Memory, IsCutIntoBuffers) {
  constexpr uint64_t kMost = 256 * 200;
  constexpr size_t kMany = QGEN_SANITIZED ? 150 : 20'000;
  for (const auto& [count, most_steps] : {std::pair<size_t, uint32_t>{121, 40}, {kMany, 2000}}) {
    const std::vector<Lifetime> tensors = random_lifetimes(3, count, most_steps);
    const MemoryPlan plan = plan_memory(tensors, 256, kMost), whole = plan_memory(tensors, 256);
    EXPECT_EQ(plan.buffer_bytes, kMost);
    EXPECT_EQ(whole.buffer_bytes, 0u);
    expect_sound(tensors, plan, 256);
    for (size_t i = 0; i < tensors.size(); ++i)
      ASSERT_EQ(plan.offsets[i] / kMost, (plan.offsets[i] + tensors[i].bytes - 1) / kMost) << i;
    EXPECT_LT(static_cast<double>(plan.bytes), 1.25 * static_cast<double>(whole.bytes)) << count;
  }
}

// A buffer is as large as the largest tensor, and an arena that fits one is not cut.
TEST(Memory, BuffersHoldTheLargestTensor) {
  const std::vector<Lifetime> tensors{{4096, 0, 1}, {1024, 1, 2}, {1024, 1, 2}};
  const MemoryPlan plan = plan_memory(tensors, 256, 2048);
  EXPECT_EQ(plan.buffer_bytes, 4096u);
  EXPECT_EQ(plan.bytes, 6144u);
  EXPECT_EQ(plan_memory(tensors, 256, 6144).buffer_bytes, 0u);
}

// Tensors without bytes, which use another's memory, are no neighbours.
TEST(Memory, OfNoBytesIsAnywhere) {
  std::vector<Lifetime> tensors(100'000);
  tensors[7] = {1024, 0, 1};
  const MemoryPlan plan = plan_memory(tensors, 256);
  EXPECT_EQ(plan.bytes, 1024u);
  EXPECT_EQ(plan.offsets.size(), tensors.size());
}

}  // namespace
}  // namespace qgen::graph
