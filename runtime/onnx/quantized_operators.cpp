// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/quantized_operators.h"

#include <algorithm>

namespace qgen::onnx {

const QuantizedOperator* find_quantized_operator(std::string_view op, std::string_view domain) {
  constexpr std::string_view kMicrosoft = "com.microsoft";
  static const std::vector<QuantizedOperator> kOperators = {
      {"QLinearConv", "", "Conv", {0, 3}, 6, 8, WeightAxis::first},
      {"QLinearMatMul", "", "MatMul", {0, 3}, 6, -1, WeightAxis::last},
      {"QLinearMatMul", kMicrosoft, "MatMul", {0, 3}, 6, -1, WeightAxis::last},
      {"QGemm", kMicrosoft, "Gemm", {0, 3}, 7, 6, WeightAxis::of_gemm},
      {"QLinearAdd", kMicrosoft, "Add", {0, 3}, 6},
      {"QLinearMul", kMicrosoft, "Mul", {0, 3}, 6},
      {"QLinearAveragePool", kMicrosoft, "AveragePool", {0}, 3},
      {"QLinearGlobalAveragePool", kMicrosoft, "GlobalAveragePool", {0}, 3},
      {"QLinearReduceMean", kMicrosoft, "ReduceMean", {0}, 3},
      {"QLinearSigmoid", kMicrosoft, "Sigmoid", {0}, 3},
      {"QLinearLeakyRelu", kMicrosoft, "LeakyRelu", {0}, 3},
  };
  const auto found = std::ranges::find_if(
      kOperators, [&](const QuantizedOperator& row) { return row.op == op && row.domain == domain; });
  return found == kOperators.end() ? nullptr : &*found;
}

}  // namespace qgen::onnx
