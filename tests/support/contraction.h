// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds data for which fusing a product and a sum changes the rounded integer. Without fusing, both are rounded; a
// compiler that fuses them (fma) rounds once. With any data the last bit of a float differs, but an integer rounded
// from it hardly ever does: one in 25 million on the GPU where it was observed. So these data are searched for.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::testing {

// a * b + c as definitions have it, and contracted.
using MultiplyAdd = float (*)(float a, float b, float c);
inline float rounded_twice(float a, float b, float c) {
  const float product = a * b;
  return product + c;
}
inline float contracted(float a, float b, float c) { return std::fma(a, b, c); }

// The float that many floats above x, or below.
inline float stepped(float x, int64_t steps) {
  for (; steps > 0; --steps) x = std::nextafter(x, std::numeric_limits<float>::infinity());
  for (; steps < 0; ++steps) x = std::nextafter(x, -std::numeric_limits<float>::infinity());
  return x;
}

// Whether x * factor is no half, is rounded to one, and then goes to the integer farther from it. Contracted with the
// sum that rounds to an integer (lib/float32.glsl), it goes to the nearer one.
inline bool is_next_to_a_half(float x, float factor) {
  const float rounded = x * factor;
  const double exact = static_cast<double>(x) * static_cast<double>(factor);
  return std::nearbyint(static_cast<double>(rounded)) != std::nearbyint(exact);
}

inline std::vector<double> next_to_halves(std::span<const float> candidates, float factor) {
  std::vector<double> found;
  for (const float x : candidates) {
    if (is_next_to_a_half(x, factor)) found.push_back(static_cast<double>(x));
  }
  return found;
}

// Of all floats, some of those with a product of magnitude up to `limit`.
inline std::vector<double> floats_next_to_halves(float factor, int limit) {
  std::vector<float> candidates;
  for (int integer = -limit; integer < limit; ++integer) {
    const auto middle = static_cast<float>((integer + 0.5) / static_cast<double>(factor));
    for (int64_t steps = -3; steps <= 3; ++steps) candidates.push_back(stepped(middle, steps));
  }
  return next_to_halves(candidates, factor);
}

// Elements that are not the same.
inline int64_t differences(const HostTensor& a, const HostTensor& b) {
  int64_t count = 0;
  for (int64_t i = 0; i < element_count(a.shape); ++i) count += element(a, i) != element(b, i) ? 1 : 0;
  return count;
}

}  // namespace qgen::testing
