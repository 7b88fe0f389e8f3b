// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qgen::onnx {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

using chains::Formula;
using chains::Step;

// ---- steps that several functions have ------------------------------------------------------------------------------

WrittenFunction one(Step step) {
  return [step](Formula& f, uint32_t x) { return f.step(step, x); };
}
uint32_t scaled(Formula& f, uint32_t x, double factor) { return f.step(Step::multiply, x, f.real(factor)); }
uint32_t shifted(Formula& f, uint32_t x, double offset) { return f.step(Step::add, x, f.real(offset)); }
uint32_t between(Formula& f, uint32_t x, double low, double high) {
  return f.step(Step::minimum, f.step(Step::maximum, x, f.real(low)), f.real(high));
}
// Where x > least: a; else b.
uint32_t above(Formula& f, uint32_t x, double least, uint32_t a, uint32_t b) {
  return f.step(Step::choose, f.step(Step::less, f.real(least), x), a, b);
}
// log(1 + exp(x)), which is max(x, 0) + log(1 + exp(-|x|)).
uint32_t softplus(Formula& f, uint32_t x) {
  const auto power = f.step(Step::exponential, f.step(Step::negate, f.step(Step::absolute, x)));
  return f.step(Step::add, f.step(Step::maximum, x, f.real(0)), f.step(Step::logarithm_plus_1, power));
}
// gamma * (x where x > 0, else alpha * (exp(x / beta) - 1)).
WrittenFunction elu(double alpha, double beta = 1, double gamma = 1) {
  return [=](Formula& f, uint32_t x) {
    const auto bounded = scaled(f, f.step(Step::minimum, x, f.real(0)), 1 / beta);
    const auto below = scaled(f, f.step(Step::exponential_less_1, bounded), alpha);
    const auto result = above(f, x, 0, x, below);
    return gamma == 1 ? result : scaled(f, result, gamma);
  };
}
// The root of 1 + sign * x * x.
uint32_t root_of_square(Formula& f, uint32_t x, double one, double sign) {
  return f.step(Step::square_root, shifted(f, scaled(f, f.step(Step::multiply, x, x), sign), one));
}
uint32_t arc_sine(Formula& f, uint32_t x) {
  // (1 - x) (1 + x) is exact where 1 - x * x is not.
  const auto product = f.step(Step::multiply, f.step(Step::subtract, f.real(1), x), shifted(f, x, 1));
  return f.step(Step::arc_tangent, f.step(Step::divide, x, f.step(Step::square_root, product)));
}
uint32_t half_of_powers(Formula& f, uint32_t x, Step sum) {
  const auto power = f.step(Step::exponential, x);
  return scaled(f, f.step(sum, power, f.step(Step::divide, f.real(1), power)), 0.5);
}

// ---- functions ------------------------------------------------------------------------------------------------------

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
       return Function{.of = [=](double x) { return x > 0 ? x : slope * x; },
                       .q8ta = "q8ta_leaky_relu",
                       .slope = slope,
                       .written = [=](Formula& f, uint32_t x) { return above(f, x, 0, x, scaled(f, x, slope)); }};
     }},
    {"Tanh",
     [](const Node&) { return Function{.of = [](double x) { return std::tanh(x); }, .written = one(Step::tanh)}; }},
    {"HardSigmoid",
     [](const Node& node) {
       const double alpha = node.real("alpha", 0.2f), beta = node.real("beta", 0.5f);
       return Function{
           .of = [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); },
           .written = [=](Formula& f, uint32_t x) { return between(f, shifted(f, scaled(f, x, alpha), beta), 0, 1); }};
     }},
    {"Elu",
     [](const Node& node) {
       const double alpha = node.real("alpha", 1);
       return Function{.of = [=](double x) { return x > 0 ? x : alpha * std::expm1(x); }, .written = elu(alpha)};
     }},
    {"Celu",
     [](const Node& node) {
       const double alpha = node.real("alpha", 1);
       return Function{.of = [=](double x) { return x > 0 ? x : alpha * std::expm1(x / alpha); },
                       .written = elu(alpha, alpha)};
     }},
    {"Selu",
     [](const Node& node) {
       const double alpha = node.real("alpha", 1.67326319217681884765625f),
                    gamma = node.real("gamma", 1.05070102214813232421875f);
       return Function{.of = [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); },
                       .written = elu(alpha, 1, gamma)};
     }},
    {"ThresholdedRelu",
     [](const Node& node) {
       const double alpha = node.real("alpha", 1);
       return Function{.of = [=](double x) { return x > alpha ? x : 0; },
                       .written = [=](Formula& f, uint32_t x) { return above(f, x, alpha, x, f.real(0)); }};
     }},
    {"Shrink",
     [](const Node& node) {
       const double bias = node.real("bias", 0), lambda = node.real("lambd", 0.5f);
       return Function{.of = [=](double x) { return x < -lambda  ? x + bias
                                                    : x > lambda ? x - bias
                                                                 : 0; },
                       .written =
                           [=](Formula& f, uint32_t x) {
                             const auto low = f.step(Step::choose, f.step(Step::less, x, f.real(-lambda)),
                                                     shifted(f, x, bias), f.real(0));
                             return above(f, x, lambda, shifted(f, x, -bias), low);
                           }};
     }},
    {"Softsign",
     [](const Node&) {
       return Function{
           .of = [](double x) { return x / (1 + std::abs(x)); },
           .written = [](Formula& f,
                         uint32_t x) { return f.step(Step::divide, x, shifted(f, f.step(Step::absolute, x), 1)); }};
     }},
    {"Mish",
     [](const Node&) {
       return Function{
           .of = [](double x) { return x > 30 ? x : x * std::tanh(std::log1p(std::exp(x))); },
           .written = [](Formula& f,
                         uint32_t x) { return f.step(Step::multiply, x, f.step(Step::tanh, softplus(f, x))); }};
     }},
    {"Abs",
     [](const Node&) { return Function{.of = [](double x) { return std::abs(x); }, .written = one(Step::absolute)}; }},
    {"Neg", [](const Node&) { return Function{.of = [](double x) { return -x; }, .written = one(Step::negate)}; }},
    {"Sign",
     [](const Node&) {
       return Function{.of = [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }, .written = one(Step::sign_of)};
     }},
    {"Ceil",
     [](const Node&) { return Function{.of = [](double x) { return std::ceil(x); }, .written = one(Step::ceil)}; }},
    {"Cos",
     [](const Node&) { return Function{.of = [](double x) { return std::cos(x); }, .written = one(Step::cosine)}; }},
    {"Erf",
     [](const Node&) {
       return Function{.of = [](double x) { return std::erf(x); }, .written = one(Step::error_function)};
     }},
    {"Exp",
     [](const Node&) {
       return Function{.of = [](double x) { return std::exp(x); }, .written = one(Step::exponential)};
     }},
    {"Floor",
     [](const Node&) { return Function{.of = [](double x) { return std::floor(x); }, .written = one(Step::floor)}; }},
    {"Log",
     [](const Node&) { return Function{.of = [](double x) { return std::log(x); }, .written = one(Step::logarithm)}; }},
    {"Reciprocal",
     [](const Node&) {
       return Function{.of = [](double x) { return 1 / x; },
                       .written = [](Formula& f, uint32_t x) { return f.step(Step::divide, f.real(1), x); }};
     }},
    {"Round",
     [](const Node&) {
       return Function{.of = [](double x) { return std::nearbyint(x); }, .written = one(Step::round)};
     }},
    {"Sin",
     [](const Node&) { return Function{.of = [](double x) { return std::sin(x); }, .written = one(Step::sine)}; }},
    {"Sqrt",
     [](const Node&) {
       return Function{.of = [](double x) { return std::sqrt(x); }, .written = one(Step::square_root)};
     }},
    {"Tan",
     [](const Node&) {
       return Function{
           .of = [](double x) { return std::tan(x); },
           .written = [](Formula& f,
                         uint32_t x) { return f.step(Step::divide, f.step(Step::sine, x), f.step(Step::cosine, x)); }};
     }},
    {"Atan",
     [](const Node&) {
       return Function{.of = [](double x) { return std::atan(x); }, .written = one(Step::arc_tangent)};
     }},
    {"Asin", [](const Node&) { return Function{.of = [](double x) { return std::asin(x); }, .written = arc_sine}; }},
    {"Acos",
     [](const Node&) {
       return Function{
           .of = [](double x) { return std::acos(x); },
           .written = [](Formula& f,
                         uint32_t x) { return f.step(Step::subtract, f.real(1.5707963267948966), arc_sine(f, x)); }};
     }},
    {"Sinh",
     [](const Node&) {
       return Function{.of = [](double x) { return std::sinh(x); },
                       .written = [](Formula& f, uint32_t x) { return half_of_powers(f, x, Step::subtract); }};
     }},
    {"Cosh",
     [](const Node&) {
       return Function{.of = [](double x) { return std::cosh(x); },
                       .written = [](Formula& f, uint32_t x) { return half_of_powers(f, x, Step::add); }};
     }},
    {"Asinh",
     [](const Node&) {
       return Function{.of = [](double x) { return std::asinh(x); },
                       .written =
                           [](Formula& f, uint32_t x) {
                             const auto magnitude = f.step(Step::absolute, x);
                             const auto sum = f.step(Step::add, magnitude, root_of_square(f, x, 1, 1));
                             return f.step(Step::multiply, f.step(Step::sign_of, x), f.step(Step::logarithm, sum));
                           }};
     }},
    {"Acosh",
     [](const Node&) {
       return Function{.of = [](double x) { return std::acosh(x); },
                       .written =
                           [](Formula& f, uint32_t x) {
                             return f.step(Step::logarithm, f.step(Step::add, x, root_of_square(f, x, -1, 1)));
                           }};
     }},
    {"Atanh",
     [](const Node&) {
       return Function{.of = [](double x) { return std::atanh(x); },
                       .written =
                           [](Formula& f, uint32_t x) {
                             const auto quotient =
                                 f.step(Step::divide, shifted(f, x, 1), f.step(Step::subtract, f.real(1), x));
                             return scaled(f, f.step(Step::logarithm, quotient), 0.5);
                           }};
     }},
    {"Softplus",
     [](const Node&) {
       return Function{.of = [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }, .written = softplus};
     }},
    {"Gelu",
     [](const Node& node) {
       if (node.word("approximate", "none") == "tanh")
         return Function{
             .of = [](double x) { return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
             .written =
                 [](Formula& f, uint32_t x) {
                   const auto square = f.step(Step::multiply, x, x);
                   const auto cubic = f.step(Step::multiply, x, shifted(f, scaled(f, square, 0.044715), 1));
                   const auto gate = shifted(f, f.step(Step::tanh, scaled(f, cubic, 0.7978845608028654)), 1);
                   return f.step(Step::multiply, scaled(f, x, 0.5), gate);
                 }};
       return Function{.of = [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); },
                       .written =
                           [](Formula& f, uint32_t x) {
                             const auto gate =
                                 shifted(f, f.step(Step::error_function, scaled(f, x, std::sqrt(0.5))), 1);
                             return f.step(Step::multiply, scaled(f, x, 0.5), gate);
                           }};
     }},
};

// Attributes until opset 6, inputs since; either bound may be left out.
Expected<std::optional<Function>> clip(const Node& node, std::span<const TensorPtr> constants) {
  RealBounds bounds{.low = node.real("min", RealBounds{}.low), .high = node.real("max", RealBounds{}.high)};
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    if (!constants[i] || constants[i]->size() != 1) return unsupported("its bounds are not constant");
    (i == 1 ? bounds.low : bounds.high) = constants[i]->real(0);
  }
  if (std::isnan(bounds.low) || std::isnan(bounds.high)) return refused("its bounds are NaN");
  bounds.low = std::min(bounds.low, bounds.high);  // NumPy's clip, which ONNX follows, has the upper one win
  return std::optional(bounded(bounds));
}

// By a number.
std::optional<Function> power(std::span<const TensorPtr> constants) {
  if (constants.size() != 2 || !constants[1] || constants[1]->size() != 1) return std::nullopt;
  const double exponent = constants[1]->real(0);
  return Function{.of = [=](double x) { return std::pow(x, exponent); },
                  .written =
                      [=](Formula& f, uint32_t x) {
                        return exponent == 0.5 ? f.step(Step::square_root, x)
                                               : f.step(Step::power, x, f.real(exponent));
                      }};
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
  if (node.op == "Pow") return power(constants);
  const auto row = std::ranges::find(kFunctions, node.op, &FunctionRow::op);
  return row == std::end(kFunctions) ? std::optional<Function>() : std::optional(row->make(node));
}

bool is_function(std::string_view op) {
  return op == "Clip" || op == "Pow" || std::ranges::find(kFunctions, op, &FunctionRow::op) != std::end(kFunctions);
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

// The function as QuantizeLinear reads it: NaN becomes the zero point, which is the integer of 0.
std::function<double(double)> without_nan(const Function& function) {
  return [of = function.of](double x) {
    const double y = of(x);
    return std::isnan(y) ? 0.0 : y;
  };
}

int result_of(const std::function<double(double)>& of, double x, const PerTensor& output) {
  return quantized(static_cast<float>(of(x)), output);
}

// The range of inputs in which the quantized output still changes. It is searched outwards from 0 in steps of a
// sixteenth of an octave, from far below the output's quantization step to far above its range.
RealBounds changing_range(const std::function<double(double)>& of, const PerTensor& output) {
  const auto last_change = [&](double sign) {
    const double least = 0x1p-20 * output.scale, most = std::max(0x1p12 * output.scale, 64.0);
    double edge = least, x = most;
    const int limit = result_of(of, sign * most, output);
    for (; x > least; x *= 0x1.ea4afap-1) {  // 2^(-1/16)
      if (result_of(of, sign * x, output) != limit) break;
      edge = x;
    }
    return sign * std::max(x, edge);
  };
  return {static_cast<float>(last_change(-1)), static_cast<float>(last_change(1))};
}

// The largest difference of a table's result from the function's. Nine values of each interval of the table are tried:
// those that round to one input, from end to end.
int largest_difference(const std::function<double(double)>& of, const FunctionTable& table, const PerTensor& output) {
  int largest = 0;
  for (int q = -128; q < 128; ++q) {
    const int result = table.table[static_cast<size_t>(q + 128)];
    for (int eighth = -4; eighth <= 4; ++eighth) {
      const double x = (q - table.input.zero_point + eighth / 8.0) * table.input.scale;
      largest = std::max(largest, std::abs(result_of(of, x, output) - result));
    }
  }
  return largest;
}

}  // namespace

std::optional<FunctionTable> table_of(const Function& function, const PerTensor& output) {
  if (function.bounds) {
    const IntegerRange range = integer_bounds(*function.bounds, output);
    FunctionTable result{output, {}};
    for (int q = -128; q < 128; ++q)
      result.table[static_cast<size_t>(q + 128)] = static_cast<int8_t>(std::clamp<int64_t>(q, range.min, range.max));
    return result;
  }
  const auto of = without_nan(function);
  const RealBounds range = changing_range(of, output);
  PerTensor input{std::max((range.high - range.low) / 255, kLeastScale), 0};
  input.zero_point = std::clamp(static_cast<int32_t>(std::nearbyint(-128 - range.low / input.scale)), -128, 127);
  const FunctionTable result{input, byte_table(of, input, output)};
  if (largest_difference(of, result, output) > 1) return std::nullopt;
  return result;
}

}  // namespace qgen::onnx
