// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors in one arena: those that live together never overlap, and the arena is as small as it can be where that is
// known.
#include "runtime/graph/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace qgen::graph {
namespace {

void expect_sound(const std::vector<Lifetime>& tensors, const MemoryPlan& plan, uint64_t alignment) {
  ASSERT_EQ(plan.offsets.size(), tensors.size());
  for (size_t a = 0; a < tensors.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % alignment, 0u);
    EXPECT_LE(plan.offsets[a] + tensors[a].bytes, plan.bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool lives = tensors[a].first <= tensors[b].last && tensors[b].first <= tensors[a].last;
      const bool overlaps =
          plan.offsets[a] < plan.offsets[b] + tensors[b].bytes && plan.offsets[b] < plan.offsets[a] + tensors[a].bytes;
      EXPECT_FALSE(lives && overlaps) << a << " and " << b;
    }
  }
  EXPECT_GE(plan.bytes, plan.lower_bound);
  EXPECT_LE(plan.bytes, plan.naive);
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

// The largest is placed first, and what is smaller finds room beside it whatever the order of the steps.
TEST(Memory, OfAResidualBlock) {
  const std::vector<Lifetime> block{{4096, 0, 3}, {1024, 0, 1}, {1024, 1, 2}, {4096, 2, 3}, {4096, 3, 4}};
  const MemoryPlan plan = plan_memory(block, 256);
  expect_sound(block, plan, 256);
  EXPECT_EQ(plan.bytes, plan.lower_bound);
}

TEST(Memory, OfRandomGraphsIsSoundAndNearTheBound) {
  double sum = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::minstd_rand random(seed + 1);
    std::vector<Lifetime> tensors(121);
    for (Lifetime& tensor : tensors) {
      tensor.first = static_cast<uint32_t>(random() % 100);
      tensor.last = tensor.first + static_cast<uint32_t>(random() % 12);
      tensor.bytes = 256 * (1 + random() % 64);
    }
    const MemoryPlan plan = plan_memory(tensors, 256);
    expect_sound(tensors, plan, 256);
    sum += static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound);
  }
  EXPECT_LT(sum / 60, 1.05);
}

}  // namespace
}  // namespace qgen::graph
