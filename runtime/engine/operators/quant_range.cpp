// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/quant_range.h"

#include <fmt/format.h>

namespace qgen {

Expected<IntegerRange> checked_range(int64_t min, int64_t max) {
  if (min <= max) return IntegerRange{min, max};
  return refused(fmt::format("quant_min {} is above quant_max {}", min, max));
}

Expected<IntegerRange> checked_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max) {
  const IntegerRange all = *range_of(dtype);
  const auto given = checked_range(min.value_or(all.min), max.value_or(all.max));
  if (!given || (given->min >= all.min && given->max <= all.max)) return given;
  return refused(fmt::format("quant_min {} and quant_max {} exceed the range of {}, {} to {}", given->min, given->max,
                             name(dtype), all.min, all.max));
}

}  // namespace qgen
