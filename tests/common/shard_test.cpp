// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/shard.h"

#include <gtest/gtest.h>

namespace qgen {
namespace {

TEST(Shard, IsReadFromText) {
  EXPECT_EQ(*shard_of("3/8"), (Shard{3, 8}));
  EXPECT_EQ(*shard_of("1/1"), Shard());
  EXPECT_EQ(to_text(Shard{3, 8}), "3/8");
  for (const char* text : {"", "3", "/", "3/", "/8", "0/8", "9/8", "-1/8", "3/8/9", "3 / 8", "1/1000001", "a/b"}) {
    EXPECT_FALSE(shard_of(text)) << text;
  }
  EXPECT_EQ(shard_of("9/8").error().message, "'9/8' is no part: a part is I/N, such as 3/8, the third of eight");
}

TEST(Shard, HasEachPieceOfWorkOnce) {
  for (uint64_t place = 0; place < 100; ++place) {
    size_t count = 0;
    for (uint32_t index = 1; index <= 7; ++index) count += Shard{index, 7}.has(place) ? 1 : 0;
    EXPECT_EQ(count, 1u);
    EXPECT_TRUE(Shard().has(place));
  }
}

}  // namespace
}  // namespace qgen
