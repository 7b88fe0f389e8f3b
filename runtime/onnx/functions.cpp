// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qgen::onnx {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A function with parameters that are attributes of its node.
struct FunctionRow {
  std::string_view op;
  Function (*make)(const Node& node);
};
constexpr FunctionRow kFunctions[] = {
    {"Relu", [](const Node&) { return bounded({.low = 0}); }},
    {"HardSwish",
     [](const Node&) {
       return Function{.of = [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; },
                       .word = "hardswish",
                       .q8ta = "q8ta_hardswish",
                       .real = "fused_hardswish"};
     }},
    {"Sigmoid", [](const Node&) { return Function{.of = sigmoid, .q8ta = "q8ta_sigmoid", .real = "fused_sigmoid"}; }},
    {"LeakyRelu",
     [](const Node& node) {
       const double slope = node.real("alpha", 0.01f);
       return Function{
           .of = [=](double x) { return x > 0 ? x : slope * x; }, .q8ta = "q8ta_leaky_relu", .slope = slope};
     }},
    {"Tanh", [](const Node&) { return Function{.of = [](double x) { return std::tanh(x); }}; }},
    {"HardSigmoid",
     [](const Node& node) {
       const double alpha = node.real("alpha", 0.2f), beta = node.real("beta", 0.5f);
       return Function{.of = [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); }};
     }},
    {"Elu",
     [](const Node& node) {
       const double alpha = node.real("alpha", 1);
       return Function{.of = [=](double x) { return x > 0 ? x : alpha * std::expm1(x); }};
     }},
    {"Softplus",
     [](const Node&) { return Function{.of = [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }}; }},
    {"Gelu",
     [](const Node& node) {
       if (node.word("approximate", "none") == "tanh")
         return Function{
             .of = [](double x) { return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }};
       return Function{.of = [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }};
     }},
};

// Attributes until opset 6, inputs since; either bound may be left out.
Expected<std::optional<Function>> clip(const Node& node, std::span<const TensorPtr> constants) {
  RealBounds bounds{.low = node.real("min", RealBounds{}.low), .high = node.real("max", RealBounds{}.high)};
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    if (!constants[i] || constants[i]->size() != 1) return unsupported("its bounds are no constants");
    (i == 1 ? bounds.low : bounds.high) = constants[i]->real(0);
  }
  if (std::isnan(bounds.low) || std::isnan(bounds.high)) return refused("its bounds are no numbers");
  bounds.low = std::min(bounds.low, bounds.high);  // NumPy's clip, which ONNX follows, has the upper one win
  return std::optional(bounded(bounds));
}

}  // namespace

Function bounded(RealBounds bounds) {
  Function function{.bounds = bounds,
                    .of = [=](double x) { return std::clamp<double>(x, bounds.low, bounds.high); },
                    .real = "fused_clip"};
  const bool from_zero = bounds.low == 0;
  if (from_zero && std::isinf(bounds.high)) {
    function.word = "relu";
    function.q8ta = "q8ta_relu";
    function.real = "fused_relu";
  } else if (from_zero && bounds.high == 6) {
    function.word = "relu6";
  }
  return function;
}

Function silu() {
  return {.of = [](double x) { return x * sigmoid(x); }, .real = "fused_sigmoid", .is_gate = true};
}

Expected<std::optional<Function>> function_of(const Node& node, std::span<const TensorPtr> constants) {
  if (!node.domain.empty()) return std::optional<Function>();
  if (node.op == "Clip") return clip(node, constants);
  const auto row = std::ranges::find(kFunctions, node.op, &FunctionRow::op);
  return row == std::end(kFunctions) ? std::optional<Function>() : std::optional(row->make(node));
}

Function then(const Function& first, const Function& second) {
  if (first.bounds && second.bounds) {
    const RealBounds &a = *first.bounds, &b = *second.bounds;
    return bounded({std::clamp(a.low, b.low, b.high), std::clamp(a.high, b.low, b.high)});
  }
  return {.of = [f = first.of, g = second.of](double x) { return g(f(x)); }};
}

IntegerRange integer_bounds(const RealBounds& bounds, const PerTensor& output) {
  return {quantized(bounds.low, output), quantized(bounds.high, output)};
}

// ---- tables ---------------------------------------------------------------------------------------------------------

namespace {

// The reals from the first to the last at which the output's integers still change, seen from 0 outwards in steps of a
// sixteenth of an octave, from far below the output's quantum to far above its range.
RealBounds changing_range(const Function& function, const PerTensor& output) {
  const auto at = [&](double x) { return quantized(static_cast<float>(function.of(x)), output); };
  const auto last_change = [&](double sign) {
    const double least = 0x1p-20 * output.scale, most = std::max(0x1p12 * output.scale, 64.0);
    double edge = least, x = most;
    const int limit = at(sign * most);
    for (; x > least; x *= 0x1.ea4afap-1) {  // 2^(-1/16)
      if (at(sign * x) != limit) break;
      edge = x;
    }
    return sign * std::max(x, edge);
  };
  return {static_cast<float>(last_change(-1)), static_cast<float>(last_change(1))};
}

}  // namespace

FunctionTable table_of(const Function& function, const PerTensor& output) {
  if (function.bounds) {
    const IntegerRange range = integer_bounds(*function.bounds, output);
    FunctionTable result{output, {}};
    for (int q = -128; q < 128; ++q)
      result.table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(std::clamp<int64_t>(q, range.min, range.max));
    return result;
  }
  const RealBounds range = changing_range(function, output);
  PerTensor input{std::max((range.high - range.low) / 255, kLeastScale), 0};
  input.zero_point = std::clamp(static_cast<int32_t>(std::nearbyint(-128 - range.low / input.scale)), -128, 127);
  return {input, byte_table(function.of, input, output)};
}

}  // namespace qgen::onnx
