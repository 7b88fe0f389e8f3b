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

// Of two sequences.
std::vector<int32_t> table_of(const BlockPool& pool, int64_t per_sequence) {
  const HostTensor entries = pool.table(per_sequence);
  EXPECT_EQ(entries.shape, (Shape{2, per_sequence}));
  const auto of = entries.as<int32_t>();
  return {of.begin(), of.end()};
}

TEST(BlockPool, GivesBlocksAsSequencesGrow) {
  BlockPool pool({.size = 16, .count = 5}, 2);
  const auto grow = [&](const std::vector<int64_t>& lengths) { return said(pool.grow(lengths)); };
  const auto table = [&] { return table_of(pool, 4); };
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

TEST(BlockPool, GivesReturnedBlocks) {
  BlockPool pool({.size = 4, .count = 3}, 2);
  const auto grow = [&](const std::vector<int64_t>& lengths) { return said(pool.grow(lengths)); };
  EXPECT_EQ(grow({5, 3}), "done");
  EXPECT_THAT(table_of(pool, 3), ElementsAre(0, 1, -1, 2, -1, -1));
  pool.end(0);
  pool.end(0);  // once more
  EXPECT_THAT(table_of(pool, 3), ElementsAre(-1, -1, -1, 2, -1, -1));
  EXPECT_EQ(grow({100, 12}), "done");
  EXPECT_THAT(table_of(pool, 3), ElementsAre(-1, -1, -1, 2, 1, 0));
  EXPECT_EQ(grow({100, 13}),
            "the pool has 3 blocks of 4 tokens, and the sequences need 4 blocks\n"
            "  hint: more blocks, or fewer tokens");
}

TEST(BlockPool, CountsWithoutOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(BlockPool({.size = 1, .count = 5}, 2).check(std::vector{kMost, kMost}));
}

}  // namespace
}  // namespace qgen::graph
