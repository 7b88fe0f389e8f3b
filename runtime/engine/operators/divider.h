// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by a number that the host knows and the kernel does not. A GPU needs some twenty instructions to divide, and
// three to multiply and shift. The kernel's half is templates/lib/quotient.glsl, which also shows that it is exact.
#pragma once

#include <bit>
#include <cstdint>

namespace qgen {

struct Divider {
  uint32_t divisor = 1;
  uint32_t multiplier = uint32_t{1} << 31;  // ceil(2^(31 + shift) / divisor)
  uint32_t shift = 0;                       // ceil(log2 divisor)
};

// `divisor` from 1 to 2^31.
constexpr Divider divider_of(uint32_t divisor) {
  const auto shift = static_cast<uint32_t>(std::bit_width(divisor - 1));
  const uint64_t multiplier = ((uint64_t{1} << (31 + shift)) + divisor - 1) / divisor;
  return {divisor, static_cast<uint32_t>(multiplier), shift};
}

}  // namespace qgen
