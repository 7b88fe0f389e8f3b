// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/date.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/time_text.h"

namespace qgen {
namespace {

TEST(Date, IsOneOfTheCalendar) {
  for (const char* text : {"2026-11-23", "2024-02-29", "2000-01-01", "2099-12-31"}) EXPECT_TRUE(is_date(text)) << text;
  for (const char* text : {"", "2026-13-45", "2026-02-29", "2026-00-10", "2026-10-00", "9999-12-31", "1999-12-31",
                           "2026-1-1", "2026-11-23 ", "+026-11-23", "2026/11/23", "2026-11-2x", "20261123"}) {
    EXPECT_FALSE(is_date(text)) << text;
  }
}

TEST(Date, CountsDaysBack) {
  EXPECT_TRUE(is_date(today()));
  EXPECT_LT(days_ago(1), days_ago(0));
  EXPECT_LT(days_ago(400), days_ago(366));
}

struct TimeCase {
  double us;
  const char* text;
};
constexpr TimeCase kTimes[] = {{12.8461, "12.85"}, {2629.4, "2629"},        {2610, "2610"},         {37712.3, "37712"},
                               {0.25, "0.25"},     {999.94, "999.9"},       {999.96, "1000"},       {0, "0"},
                               {-12.5, "-12.5"},   {0.0000451, "0.000045"}, {1e12, "1000000000000"}};

TEST(TimeText, HasNoExponent) {
  for (const TimeCase& c : kTimes) EXPECT_EQ(us_text(c.us), c.text);
  EXPECT_EQ(us_text(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace qgen
