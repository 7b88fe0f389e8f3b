// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/quant_range.h"

#include <fmt/format.h>

namespace qgen {

Expected<IntegerRange> checked_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max) {
  const IntegerRange all = *range_of(dtype);
  const IntegerRange given{min.value_or(all.min), max.value_or(all.max)};
  if (given.min > given.max) {
    return refused(fmt::format("quant_min {} is above quant_max {}", given.min, given.max));
  }
  if (given.min >= all.min && given.max <= all.max) return given;
  return refused(fmt::format("quant_min {} and quant_max {} exceed the range of {}, {} to {}", given.min, given.max,
                             name(dtype), all.min, all.max));
}

}  // namespace qgen
