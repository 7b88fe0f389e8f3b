// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace qgen::spec {
namespace {

struct NamedRange {
  std::string_view word;
  double least, greatest;
  std::string_view text;
};

constexpr std::array kRanges = {
    NamedRange{"i8", -128, 127, "-128 to 127"},
    NamedRange{"u8", 0, 255, "0 to 255"},
    NamedRange{"i16", -32768, 32767, "-32768 to 32767"},
    NamedRange{"u16", 0, 65535, "0 to 65535"},
    NamedRange{"i32", -2147483648.0, 2147483647.0, "-2147483648 to 2147483647"},
    NamedRange{"u32", 0, 4294967295.0, "0 to 4294967295"},
    NamedRange{"positive", 0x1p-126, 0x1.fffffep127, "a positive, finite and normal number"},
    NamedRange{"not_negative", 0, 0x1.fffffep127, "a finite number that is not below 0"},
};

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
  for (const NamedRange& range : kRanges) words.emplace_back(range.word);
  return words;
}

std::optional<Range> find_range(std::string_view word) {
  const auto range = std::ranges::find(kRanges, word, &NamedRange::word);
  if (range == kRanges.end()) return std::nullopt;
  return Range{range->least, range->greatest, std::string(range->text), std::string(word)};
}

}  // namespace qgen::spec
