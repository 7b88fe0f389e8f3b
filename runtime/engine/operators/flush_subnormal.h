// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Replaces a subnormal f32 by the zero of its sign, as docs/affine.md requires, also for numbers that the host passes
// to kernels.
#pragma once

#include <cmath>
#include <limits>

namespace qgen {

inline float flush_subnormal(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

}  // namespace qgen
