// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace qgen {

Done check_dtype(std::string_view operand, DType given, std::span<const DType> possible) {
  if (std::ranges::find(possible, given) != possible.end()) return std::monostate{};
  std::vector<std::string_view> names;
  for (const DType dtype : possible) names.push_back(name(dtype));
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} is {}, and can be {}", operand, name(given), fmt::join(names, ", ")), ""};
}

Expected<IntegerRange> checked_range(DType dtype, const std::optional<IntegerRange>& given) {
  const IntegerRange all = *range_of(dtype);
  if (!given) return all;
  if (given->min > given->max) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("quant_min {} is above quant_max {}", given->min, given->max), ""};
  }
  if (given->min >= all.min && given->max <= all.max) return *given;
  return Error{Error::Kind::invalid_argument,
               fmt::format("quant_min {} and quant_max {} exceed the range of {}, {} to {}", given->min, given->max,
                           name(dtype), all.min, all.max),
               ""};
}

std::optional<IntegerRange> given_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max) {
  const auto all = range_of(dtype);
  if (!all || (!min && !max)) return std::nullopt;
  return IntegerRange{min.value_or(all->min), max.value_or(all->max)};
}

}  // namespace qgen
