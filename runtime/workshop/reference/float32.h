// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// f32 arithmetic as docs/affine.md defines it, on a host whose floats are IEEE 754, round to nearest even and keep
// subnormals. There +, - and * are the RN of that page. These functions define results next to 2^-126.
#pragma once

#include <cmath>
#include <limits>

namespace qgen::reference {

static_assert(std::numeric_limits<float>::is_iec559);
constexpr float kSmallestNormal = 0x1p-126f;

// Inputs and sums.
inline float flushed(float x) { return std::abs(x) < kSmallestNormal ? std::copysign(0.0f, x) : x; }

// The product of two floating-point values: 2^-126 counts as zero too.
inline float product(float a, float b) {
  const float x = flushed(a) * flushed(b);
  return std::abs(x) <= kSmallestNormal ? std::copysign(0.0f, x) : x;
}

// Zero if the exact quotient is below 2^-126. A double decides this, since among subnormal floats (1 - 2^-24) * 2^-126
// is a tie, which rounds up.
inline float quotient(float a, float b) {
  const float x = flushed(a) / flushed(b);
  const double wide = static_cast<double>(flushed(a)) / static_cast<double>(flushed(b));
  return std::abs(wide) < static_cast<double>(kSmallestNormal) ? std::copysign(0.0f, x) : x;
}

}  // namespace qgen::reference
