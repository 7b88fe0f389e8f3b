// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lookup tables: the results of a floating-point function for all 256 int8 values. q8ta_unary reads them, and linear
// layers and convolutions accept them as `table`. docs/q8ta.md defines the rounding.
//
//   const ByteTable silu = byte_table([](double x) { return x / (1 + std::exp(-x)); }, {0.05f, 0}, {0.02f, -10});
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "runtime/engine/operators/per_tensor.h"

namespace qgen {

using ByteTable = std::array<int8_t, 256>;  // of -128, -127, ... 127

// Assumes that the host's floats are IEEE 754 in the default rounding mode, so that std::nearbyint rounds half to even.
inline float dequantized(int q, const PerTensor& params) {
  return static_cast<float>(q - params.zero_point) * params.scale;
}
inline int quantized(float x, const PerTensor& params) {
  const float scaled = x * (1.0f / params.scale);
  const float low = static_cast<float>(-128 - params.zero_point), high = static_cast<float>(127 - params.zero_point);
  return static_cast<int>(std::nearbyint(std::clamp(scaled, low, high))) + params.zero_point;
}

// `function` maps a double to a double, and is finite for every value that `input` can represent.
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
