// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What operators on weights with scales check alike. Errors say what was given and what is possible.
#pragma once

#include "runtime/operators/call.h"

namespace qgen {

// A dense tensor of `dtype` in a plain buffer.
Done check_plain(std::string_view operand, const TensorDesc& given, DType dtype);
// Kernels number elements with 32 bits.
Done check_count(std::string_view operand, const Shape& shape);

// One kind of weight, as kernels read it.
struct WeightKind {
  uint32_t bits;
  Layout form;
  bool has_groups;  // scales [N, G] are possible, beside [N]
};
inline constexpr WeightKind kEightBits{8, Layout::weight_q8_rows, false};
inline constexpr WeightKind kFourBits{4, Layout::weight_q4_rows, true};

// How many scales a row of the weight has.
Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales);
// What a caller says of groups beside the shape of the scales.
Done check_group_size(const std::optional<int64_t>& group_size, const TensorDesc& weight, const TensorDesc& scales);
// The weight in the form that kernels of its kind read.
Expected<TensorDesc> checked_form(const WeightKind& kind, const TensorDesc& weight);

}  // namespace qgen
