// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/blocks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace qgen::dispatch {
namespace {

TEST(Blocks, GatherFieldsAndLeaveGapsZero) {
  struct Problem {
    uint32_t width = 7;
    float eps = 0.5f;
    uint32_t sizes[2] = {11, 12};
  } problem;
  // The block's order is its own, and it may leave fields out.
  const BlockField fields[] = {{0, offsetof(Problem, sizes), 8}, {12, offsetof(Problem, width), 4}};
  const auto block = gather_block(fields, 16, std::as_bytes(std::span(&problem, 1)));
  uint32_t words[4];
  ASSERT_EQ(block.size(), sizeof(words));
  std::memcpy(words, block.data(), sizeof(words));
  EXPECT_EQ(words[0], 11u);
  EXPECT_EQ(words[1], 12u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_EQ(words[3], 7u);
}

TEST(Blocks, MayBeEmpty) { EXPECT_TRUE(gather_block({}, 0, {}).empty()); }

}  // namespace
}  // namespace qgen::dispatch
