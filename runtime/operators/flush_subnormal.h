// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A subnormal f32 counts as the zero of its sign wherever it comes up (docs/affine.md): so do numbers that a host gives
// to kernels.
#pragma once

#include <cmath>
#include <limits>

namespace qgen {

inline float flush_subnormal(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

}  // namespace qgen
