// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One scale and zero point for a whole tensor of i8: real = (q - zero_point) * scale.
//
// A zero point is an i8, and a scale lies between 2^-125 and 2^119. Then no step of any formula in f32 gives NaN, and
// whether a device keeps subnormals or flushes them never shows: templates/lib/q8ta.glsl says why.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/operators/registry.h"

namespace qgen {

struct PerTensor {
  float scale = 1;
  int32_t zero_point = 0;
};

constexpr float kLeastScale = 0x1p-125f;
constexpr float kLargestScale = 0x1p119f;

// Errors start with the operand's name.
Done check_per_tensor(std::string_view operand, const PerTensor& params);

// A word of four zero points: what padding of a layout holds.
constexpr uint32_t padding_word(int32_t zero_point) { return (static_cast<uint32_t>(zero_point) & 0xff) * 0x01010101u; }

constexpr AttributeInfo scale_attribute(std::string_view name) {
  return {name, AttributeInfo::Kind::real, "", "2^-125 to 2^119", {}};
}
constexpr AttributeInfo zero_point_attribute(std::string_view name) {
  return {name, AttributeInfo::Kind::integer, "0", "-128 to 127", {}};
}
constexpr AttributeInfo kInputScale = scale_attribute("input_scale");
constexpr AttributeInfo kInputZeroPoint = zero_point_attribute("input_zero_point");
constexpr AttributeInfo kOutputScale = scale_attribute("output_scale");
constexpr AttributeInfo kOutputZeroPoint = zero_point_attribute("output_zero_point");

// Of a complete request: the attributes `<operand>_scale` and `<operand>_zero_point`.
PerTensor per_tensor_attribute(const Request& request, std::string_view operand);

}  // namespace qgen
