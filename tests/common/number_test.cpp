// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(read_number<int64_t>("-12"), -12);
  EXPECT_EQ(read_number<double>("1e3"), 1000.0);
  EXPECT_EQ(read_number<uint8_t>("255"), 255);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1.5", "nan", "inf", "99999999999999999999"})
    EXPECT_EQ(read_number<int64_t>(text), std::nullopt) << text;
  for (const char* text : {"-1", "256"}) EXPECT_EQ(read_number<uint8_t>(text), std::nullopt) << text;
}

// Comparisons with NaN are all false, so that it would pass a check of either end.
TEST(Number, IsFinite) {
  for (const char* text : {"nan", "-nan", "NaN", "nan(1)", "inf", "-inf", "infinity", "1e999", "-1e999"}) {
    EXPECT_EQ(read_number<double>(text), std::nullopt) << text;
    EXPECT_EQ(read_number<float>(text), std::nullopt) << text;
    EXPECT_EQ((NumberRange<double>{-std::numeric_limits<double>::infinity(), 10}.read(text)), std::nullopt) << text;
  }
}

TEST(NumberRange, HoldsBothEnds) {
  const NumberRange<double> range{0.1, 3600, "seconds"};
  EXPECT_EQ(range.read("0.1"), 0.1);
  EXPECT_EQ(range.read("3600"), 3600.0);
  EXPECT_EQ(range.read("0.0999"), std::nullopt);
  EXPECT_EQ(range.read("3600.1"), std::nullopt);
  EXPECT_TEXT(range.to_text(), "a number of seconds from 0.1 to 3600");
  EXPECT_TEXT((NumberRange<int>{1, 1000000}.to_text()), "a whole number from 1 to 1000000");
}

}  // namespace
}  // namespace qgen
