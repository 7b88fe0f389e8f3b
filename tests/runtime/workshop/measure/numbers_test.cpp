// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds the last cache from the read times of growing buffers, and throughputs on a machine that other work
// disturbs.
#include "runtime/workshop/measure/numbers.h"

#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen::measure {
namespace {

// The results for rates that are measured one after the other, and how many of them are.
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
  EXPECT_TEXT(settled_rate(lost, [] { return true; }).error().message, "the device is lost");
}

// The windows that are read until as many bytes were read as there are, and how often a processor (of 2048 invocations)
// then read its own bytes.
struct Reach {
  double share = 0;
  double again = 0;
};

Reach reach_of(const ReadWalk& walk) {
  constexpr uint32_t kLine = 64;  // vectors
  std::vector<bool> is_read(walk.vectors / kLine + 1), is_own(is_read.size());
  size_t read = 0, steps = 0, again = 0, own = 0;
  for (uint64_t begin = 0; steps * walk.invocations < walk.vectors; ++steps, begin += walk.stride) {
    for (uint32_t i = 0; i < walk.invocations; i += kLine) {
      const size_t line = (begin + i) % walk.vectors / kLine;
      read += !is_read[line];
      is_read[line] = true;
      if (i >= 2048) continue;
      again += is_own[line];
      is_own[line] = true;
      ++own;
    }
  }
  return {static_cast<double>(read) * kLine / walk.vectors, static_cast<double>(again) / static_cast<double>(own)};
}

TEST(ReadWalk, ReadsAllBeforeItReadsAnythingAgain) {
  for (const int64_t compute_units : {1, 6, 40, 132, 400}) {
    for (const int64_t mebibytes : {1, 3, 6, 32, 48, 96, 128}) {
      const DeviceNumbers device{.compute_units = compute_units};
      const ReadWalk walk = read_walk(device, mebibytes << 20);
      EXPECT_LE(int64_t{walk.vectors} * 16, mebibytes << 20);
      EXPECT_GE(int64_t{walk.vectors} * 16, mebibytes << 19);
      const Reach reach = reach_of(walk);
      EXPECT_GE(reach.share, 0.9) << compute_units << " compute units, " << mebibytes << " MiB";
      EXPECT_LE(reach.again, 0.05) << compute_units << " compute units, " << mebibytes << " MiB";
    }
  }
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
