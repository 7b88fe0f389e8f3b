// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators that have their quantization parameters as inputs: QLinearConv(x, x_scale, x_zero_point, w, ...). Each is a
// float operation between views of its inputs and a quantization of its output; the patterns do the rest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace qgen::onnx {

// The axis that the scales of the second operand go along, if it has several.
enum class WeightAxis : uint8_t { none, first, last, of_gemm };

struct QuantizedOperator {
  std::string_view op;
  std::string_view domain;      // empty: ONNX's own
  std::string_view stands_for;  // a row of patterns.h, or a function of one value
  // Where the triples of tensor, scale and zero point begin, and where the output's scale does; -1: at none. Without:
  // all of the inputs after the output's.
  std::vector<int> operands;
  int output = -1;
  int bias = -1;  // integers, with the scale of the sums
  WeightAxis weight_axis = WeightAxis::none;
};

const QuantizedOperator* find_quantized_operator(std::string_view op, std::string_view domain);

}  // namespace qgen::onnx
