// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/range.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "vocabulary/dtypes.h"

namespace qgen::spec {
namespace {

// Every range that has a name: those of integer dtypes, then those of the f32 that scales may be.
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

std::optional<double> parse_plain(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> parse_bound(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const std::string_view size = text.substr(is_negative ? 1 : 0);
  if (!size.starts_with("2^")) return parse_plain(text);
  const auto exponent = parse_plain(size.substr(2));
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
