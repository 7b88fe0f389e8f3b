// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Factors whose products are next to 2^-126, where devices differ: some keep subnormals, some flush before rounding,
// and some flush after it.
#pragma once

#include <cmath>
#include <vector>

namespace qgen::testing {

constexpr double kSmallestNormal = 0x1p-126;

struct Factors {
  std::vector<double> x, y;
};

// With each x, of at most 1, the float y that brings the product nearest to 2^-126 and both its neighbours; of either
// sign. For many x's some products come from between (1 - 2^-24) and (1 - 2^-25) times 2^-126, some from between that
// and 2^-126: a device may give these as 0 or as 2^-126.
inline Factors factors_of_the_smallest_normal(const std::vector<double>& xs) {
  Factors factors;
  for (const double x : xs) {
    const auto nearest = static_cast<float>(kSmallestNormal / x);
    for (const float y : {std::nextafter(nearest, 0.0f), nearest, std::nextafter(nearest, 1.0f)}) {
      for (const double sign : {1.0, -1.0}) {
        factors.x.push_back(x);
        factors.y.push_back(sign * static_cast<double>(y));
      }
    }
  }
  return factors;
}

// Floats of three binades, and the one of the first such fault that was seen.
inline std::vector<double> floats_below_one() {
  std::vector<double> xs = {1 - 3000 * 0x1p-24};
  for (int i = 0; i < 30; ++i) xs.push_back(std::ldexp(static_cast<float>(0.5 + i * 0.0166), -(i % 3) * 50));
  return xs;
}

// Of seven bits: halves and bytes hold them.
inline std::vector<double> short_floats_below_one() {
  std::vector<double> xs;
  for (int i = 65; i < 128; i += 2) xs.push_back(i / 128.0);
  return xs;
}

}  // namespace qgen::testing
