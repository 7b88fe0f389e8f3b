// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The last cache before memory, found in how fast buffers of growing size are read; and rates of a machine that other
// work disturbs.
#include "runtime/measure/numbers.h"

#include <gtest/gtest.h>

namespace qgen::measure {
namespace {

// What is made of rates that are measured one after the other, and how many of them are.
struct Settled {
  const char* name;
  std::vector<double> rates;
  SettledRate made;
  size_t measured;
  bool may_go_on = true;
};
const Settled kSettled[] = {
    {"two that agree", {16000, 16500, 1}, {16500, true}, 2},
    {"of a machine that was busy at first", {156, 900, 16700, 16600, 1}, {16700, true}, 4},
    {"low ones that agree less than the best two", {16700, 300, 500, 16500}, {16700, true}, 4},
    {"none that agree", {100, 200, 400, 800, 1600, 3200, 3200}, {3200, false}, 6},
    {"no time but to compare", {100, 200, 200}, {200, false}, 2, false},
    {"no kernel", {0, 16700}, {0, true}, 1},
};

TEST(SettledRates, AreTheLargestOnceTwoAgree) {
  for (const Settled& row : kSettled) {
    size_t measured = 0;
    const auto made =
        settled_rate([&] { return Expected<double>(row.rates.at(measured++)); }, [&] { return row.may_go_on; });
    ASSERT_TRUE(made) << row.name;
    EXPECT_EQ(made->rate, row.made.rate) << row.name;
    EXPECT_EQ(made->is_settled, row.made.is_settled) << row.name;
    EXPECT_EQ(measured, row.measured) << row.name;
  }
}

TEST(SettledRates, EndWithTheFirstError) {
  const auto lost = [] { return Expected<double>(Error{Error::Kind::device, "the device is lost", ""}); };
  EXPECT_EQ(settled_rate(lost, [] { return true; }).error().message, "the device is lost");
}

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
