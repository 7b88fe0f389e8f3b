// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Values for which dividing by a scale and multiplying by its reciprocal give different integers.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/workshop/reference/affine.h"

namespace qgen::testing {

// Those within 8 floats of a half between two integers.
inline std::vector<double> quotients_apart(float scale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr reference::IntegerBounds kAll{-1000, 1000};
  std::vector<double> found;
  for (int q = -129; q < 128; ++q) {
    float x = (static_cast<float>(q) + 0.5f) * scale;
    for (int step = 0; step < 8; ++step) x = std::nextafter(x, -kInfinity);
    for (int step = 0; step < 16; ++step, x = std::nextafter(x, kInfinity)) {
      if (reference::quantize(x, scale, 0, kAll) != reference::quantize_linear(x, scale, 0, kAll)) found.push_back(x);
    }
  }
  return found;
}

}  // namespace qgen::testing
