// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantization of an i8 tensor with one scale and zero point: real = (q - zero_point) * scale.
//
// A zero point is in the range of i8, and a scale is between 2^-125 and 2^119: the signatures of specs/elementwise
// check this. Then no step of a formula in f32 gives NaN, and it makes no difference whether a device flushes
// subnormals. templates/lib/q8ta.glsl has the proof.
#pragma once

#include <cstdint>

namespace qgen {

struct PerTensor {
  float scale = 1;
  int32_t zero_point = 0;

  friend bool operator==(const PerTensor&, const PerTensor&) = default;
};
// Of attributes that are within their ranges.
inline PerTensor per_tensor(double scale, int64_t zero_point) {
  return {static_cast<float>(scale), static_cast<int32_t>(zero_point)};
}
PerTensor of_input(const auto& attributes) { return per_tensor(attributes.input_scale, attributes.input_zero_point); }
PerTensor of_output(const auto& attributes) {
  return per_tensor(attributes.output_scale, attributes.output_zero_point);
}

constexpr float kLeastScale = 0x1p-125f;
constexpr float kLargestScale = 0x1p119f;

// A word of four zero points: the content of a layout's padding.
constexpr uint32_t padding_word(int32_t zero_point) { return (static_cast<uint32_t>(zero_point) & 0xff) * 0x01010101u; }

}  // namespace qgen
