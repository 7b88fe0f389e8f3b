// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any function of a real as a table of what it makes of an i8: what q8ta_unary looks up, and what linear layers and
// convolutions take as `table`. docs/q8ta.md says what is rounded.
//
//   const ByteTable silu = byte_table([](double x) { return x / (1 + std::exp(-x)); }, {0.05f, 0}, {0.02f, -10});
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "runtime/operators/per_tensor.h"

namespace qgen {

using ByteTable = std::array<int8_t, 256>;  // of -128, -127, ... 127

// Host floats are IEEE 754 and round to nearest even; std::nearbyint rounds half to even, as long as nobody changed the
// rounding mode.
inline float dequantized(int q, const PerTensor& params) {
  return static_cast<float>(q - params.zero_point) * params.scale;
}
inline int quantized(float x, const PerTensor& params) {
  const float scaled = x * (1.0f / params.scale);
  const float low = static_cast<float>(-128 - params.zero_point), high = static_cast<float>(127 - params.zero_point);
  return static_cast<int>(std::nearbyint(std::clamp(scaled, low, high))) + params.zero_point;
}

// `function` takes and gives a double, and gives a number for every real that `input` has.
template <typename Function>
ByteTable byte_table(Function function, const PerTensor& input, const PerTensor& output) {
  ByteTable table{};
  for (int q = -128; q < 128; ++q) {
    const auto real = static_cast<float>(function(double{dequantized(q, input)}));
    table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(quantized(real, output));
  }
  return table;
}

}  // namespace qgen
