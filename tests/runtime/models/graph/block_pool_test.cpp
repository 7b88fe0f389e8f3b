// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace qgen::graph {
namespace {

using ::testing::ElementsAre;

std::string said(const Done& done) { return done ? "done" : to_text(done.error()); }

TEST(BlockPool, GivesBlocksAsSequencesGrow) {
  BlockPool pool({.size = 16, .count = 5}, 2);
  const auto grow = [&](const std::vector<int64_t>& lengths) { return said(pool.grow(lengths)); };
  const auto table = [&] {
    const HostTensor entries = pool.table(4);
    EXPECT_EQ(entries.shape, (Shape{2, 4}));
    const auto of = entries.as<int32_t>();
    return std::vector(of.begin(), of.end());
  };
  EXPECT_EQ(grow({20, 3}), "done");
  EXPECT_THAT(table(), ElementsAre(0, 1, -1, -1, 2, -1, -1, -1));
  EXPECT_EQ(grow({32, 16}), "done");
  EXPECT_THAT(table(), ElementsAre(0, 1, -1, -1, 2, -1, -1, -1));
  EXPECT_EQ(grow({33, 17}), "done");
  EXPECT_THAT(table(), ElementsAre(0, 1, 3, -1, 2, 4, -1, -1));
  EXPECT_EQ(grow({49, 17}),
            "the pool has 5 blocks of 16 tokens, and the sequences need 6 blocks\n"
            "  hint: more blocks, or fewer tokens");
  EXPECT_THAT(table(), ElementsAre(0, 1, 3, -1, 2, 4, -1, -1));
}

TEST(BlockPool, CountsWithoutOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(BlockPool({.size = 1, .count = 5}, 2).check(std::vector{kMost, kMost}));
}

}  // namespace
}  // namespace qgen::graph
