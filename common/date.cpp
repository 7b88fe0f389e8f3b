// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/date.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>

#include "common/number.h"

namespace qgen {

namespace {

constexpr int kFirstYear = 2000, kLastYear = 2099;

}  // namespace

std::string today() { return days_ago(0); }

std::string days_ago(int days) {
  constexpr std::time_t kDay = 24 * 60 * 60;
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr) - days * kDay));
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = NumberRange<int>{kFirstYear, kLastYear}.read(text.substr(0, 4));
  const auto month = read_number<unsigned>(text.substr(5, 2)), day = read_number<unsigned>(text.substr(8));
  if (!year || !month || !day) return false;
  return std::chrono::year_month_day(std::chrono::year(*year), std::chrono::month(*month), std::chrono::day(*day)).ok();
}

}  // namespace qgen
