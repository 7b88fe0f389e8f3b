// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/range.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "common/number.h"
#include "vocabulary/dtypes.h"

namespace qgen::spec {
namespace {

// All named ranges: first of the integer dtypes, then of f32 values for scales.
std::vector<Range> named_ranges() {
  std::vector<Range> ranges;
  for (const DTypeInfo& row : kDTypes) {
    const auto range = range_of(row.dtype);
    if (!range) continue;
    ranges.push_back({static_cast<double>(range->min), static_cast<double>(range->max),
                      fmt::format("{} to {}", range->min, range->max), std::string(row.name)});
  }
  ranges.push_back({0x1p-126, 0x1.fffffep127, "a positive, finite and normal number", "positive"});
  ranges.push_back({0, 0x1.fffffep127, "a finite number that is not below 0", "not_negative"});
  return ranges;
}

}  // namespace

std::optional<double> parse_bound(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const std::string_view size = text.substr(is_negative ? 1 : 0);
  if (!size.starts_with("2^")) return read_number<double>(text);
  const auto exponent = read_number<double>(size.substr(2));
  if (!exponent || *exponent != std::trunc(*exponent) || std::abs(*exponent) > 1023) return std::nullopt;
  return std::ldexp(is_negative ? -1.0 : 1.0, static_cast<int>(*exponent));
}

std::vector<std::string> range_words() {
  std::vector<std::string> words;
  for (Range& range : named_ranges()) words.push_back(std::move(range.spec));
  return words;
}

std::optional<Range> find_range(std::string_view word) {
  for (Range& range : named_ranges()) {
    if (range.spec == word) return std::move(range);
  }
  return std::nullopt;
}

}  // namespace qgen::spec
