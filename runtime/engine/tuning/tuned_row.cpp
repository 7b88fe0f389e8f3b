// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tuning/tuned_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "common/date.h"
#include "common/text.h"

namespace qgen::tuning {
namespace {

constexpr double kRounded = 1.01;  // files of older versions have three digits of low and high times
constexpr size_t kMostLetters = 1 << 14, kMostOfStatistics = 1 << 20;

// A name is printed unchanged, so it must not contain control characters.
std::string fault_of_text(std::string_view name, std::string_view text, size_t most) {
  if (text.size() > most) return fmt::format("its {} is {} bytes long, of {} at most", name, text.size(), most);
  if (const auto fault = find_text_fault(text)) return fmt::format("its {} holds {}", name, fault->message);
  const auto is_layout = [](char c) { return c == '\t' || c == '\r' || c == '\n'; };
  if (std::ranges::any_of(text, is_layout)) return fmt::format("its {} is of several lines", name);
  return "";
}

}  // namespace

std::string fault_of(const TunedRow& row) {
  if (row.kernel.empty()) return "it names no kernel";
  for (const auto& [name, text, most] : {std::tuple("problem", std::string_view(row.problem), kMostLetters),
                                         {"kernel", row.kernel, kMostLetters},
                                         {"statistics", row.statistics, kMostOfStatistics}}) {
    if (std::string fault = fault_of_text(name, text, most); !fault.empty()) return fault;
  }
  for (const auto& [name, us] : {std::pair("time", row.us), {"low time", row.low_us}, {"high time", row.high_us}}) {
    if (!(us >= kLeastUs && us <= kMostUs)) {
      return fmt::format("its {} is {} us: a time is from {} to {:g} us", name, us, kLeastUs, kMostUs);
    }
  }
  const bool is_between = row.low_us <= kRounded * row.us && row.us <= kRounded * row.high_us;
  if (row.low_us > row.high_us || !is_between) {
    return fmt::format("its median of {} us is not between its low time, {} us, and its high time, {} us", row.us,
                       row.low_us, row.high_us);
  }
  if (!(row.clock > 0 && row.clock <= 1))
    return fmt::format("its clock is {}: a clock is larger than 0, and at most 1", row.clock);
  if (!is_date(row.date)) return fmt::format("its date is '{}': a date has the form 2026-11-23", printable(row.date));
  return "";
}

std::vector<TunedRow> comparable(std::vector<TunedRow> rows) {
  std::set<std::string, std::less<>> cold;
  for (const TunedRow& row : rows) {
    if (row.is_cold) cold.insert(row.problem);
  }
  std::erase_if(rows, [&](const TunedRow& row) { return !row.is_cold && cold.contains(row.problem); });
  return rows;
}

}  // namespace qgen::tuning
