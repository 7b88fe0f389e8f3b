// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The last cache before memory, found in how fast buffers of growing size are read.
#include "runtime/measure/numbers.h"

#include <gtest/gtest.h>

namespace qgen::measure {
namespace {

TEST(FindCache, IsTheLargestThatIsFasterThanMemory) {
  const ReadRate rates[] = {{8, 900}, {16, 890}, {32, 900}, {64, 500}, {128, 310}, {256, 300}, {512, 300}};
  const auto cache = find_cache(rates);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->bytes, 64);
  EXPECT_EQ(cache->bytes_per_us, 900);  // at 32
}

TEST(FindCache, IsNotThatOfSingleUnits) {
  const ReadRate rates[] = {{1, 5000}, {2, 4000}, {4, 1500}, {8, 1000}, {16, 1000}, {32, 600}, {64, 310}, {128, 300}};
  const auto cache = find_cache(rates);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->bytes, 32);
  EXPECT_EQ(cache->bytes_per_us, 1000);
}

TEST(FindCache, MayNotBeThere) {
  const ReadRate rates[] = {{8, 310}, {16, 290}, {32, 320}, {64, 300}};
  EXPECT_FALSE(find_cache(rates));
  EXPECT_FALSE(find_cache({}));
}

TEST(FindCache, MayHoldTheSmallestOnly) {
  const ReadRate rates[] = {{8, 900}, {16, 310}, {32, 300}};
  EXPECT_EQ(find_cache(rates)->bytes, 8);
}

}  // namespace
}  // namespace qgen::measure
