// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by a number that the host knows and a kernel does not: a GPU divides in some twenty instructions, and multiplies
// and shifts in three (templates/lib/quotient.glsl).
//
//   n / d = (n + floor(n * multiplier / 2^32)) >> shift        for every n below 2^31
//
// With s = ceil(log2 d), multiplier / 2^32 is 2^s / d - 1 rounded up, by less than 2^-32; so (n + ...) / 2^s is n / d and less
// than n * 2^-32 / 2^s < 1 / (2 d) more, which reaches no next integer.
#pragma once

#include <bit>
#include <cstdint>

namespace qgen {

struct Divider {
  uint32_t multiplier = 1;
  uint32_t shift = 0;
};

// `divisor` from 1 to 2^31.
constexpr Divider divider_of(uint32_t divisor) {
  const auto shift = static_cast<uint32_t>(std::bit_width(divisor - 1));
  const uint64_t excess = (uint64_t{1} << shift) - divisor;
  return {static_cast<uint32_t>((excess << 32) / divisor + 1), shift};
}

}  // namespace qgen
