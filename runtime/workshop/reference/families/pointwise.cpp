// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chains step by step. A floating-point value is a double with a bound: how far its computation in f32 may deviate.
// docs/pointwise.md derives the bound of each step. Integers are exact.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/operators/pointwise/chain.h"
#include "runtime/workshop/reference/gate.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

using chains::Step;

constexpr double kFunction = 0x1p-21;        // of a function, in relation to its result
constexpr double kLargest = 0x1.fffffep127;  // f32

// ---- operands that are broadcast ------------------------------------------------------------------------------------

struct Operand {
  const HostTensor* tensor;
  std::vector<int64_t> places;  // of each element of the output
};

std::vector<int64_t> places_in(const Shape& shape, const Shape& output) {
  std::vector<int64_t> places;
  const Strides strides = row_major_strides(shape);
  for (int64_t i = 0; i < element_count(output); ++i) {
    int64_t place = 0, rest = i;
    for (size_t d = output.size(); d-- > 0; rest /= output[d]) {
      const size_t from_end = output.size() - 1 - d;
      if (from_end >= shape.size()) continue;
      const size_t own = shape.size() - 1 - from_end;
      if (shape[own] != 1) place += rest % output[d] * strides[own];
    }
    places.push_back(place);
  }
  return places;
}

Shape widened(Shape a, Shape b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& side = a[a.size() - 1 - i];
    if (side == 1) side = b[b.size() - 1 - i];
  }
  return a;
}

// ---- reals ----------------------------------------------------------------------------------------------------------

struct Real {
  double value = 0, bound = 0;
};

double flushed(double x) { return std::abs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; }

// Rounded once, where f32 may have no such number.
Real rounded(double value, double bound, double relative = kU) {
  if (std::isnan(value)) return {kNan, 0};
  const double least = std::abs(value) - bound;
  if (least > kLargest) return {std::copysign(kInfinity, value), 0};
  if (std::isinf(value)) return {value, 0};
  return {value, bound + relative * (std::abs(value) + bound) + kLost};
}

// A function that is monotonic between x - bound and x + bound.
template <typename F>
Real monotonic(const Real& x, F f, double relative = kFunction) {
  const double value = f(x.value);
  if (std::isnan(value) || std::isinf(x.value)) return {value, 0};
  double spread = 0;
  for (const double at : {x.value - x.bound, x.value + x.bound}) {
    const double there = f(at);
    if (!std::isnan(there)) spread = std::max(spread, std::abs(there - value));
  }
  return rounded(value, spread, relative);
}

// Jumps: exact where x is.
template <typename F>
Real stepped(const Real& x, F f) {
  const Real result = monotonic(x, f, 0);
  return {result.value, x.bound == 0 ? 0 : result.bound};
}

Real truth(bool holds, bool may_differ) { return {holds ? 1.0 : 0.0, may_differ ? 1.0 : 0.0}; }

Real compared(const Real& a, const Real& b, bool holds) {
  const double slack = a.bound + b.bound;
  return truth(holds, slack > 0 && std::abs(a.value - b.value) <= slack);
}

Real divided(const Real& a, const Real& b) {
  const double x = flushed(a.value), y = flushed(b.value), value = x / y;
  const double least = std::abs(y) - b.bound;
  if (b.bound > 0 && least <= 0) return {value, kInfinity};
  const double spread =
      y == 0 || std::isinf(y) || std::isinf(x) ? 0 : (a.bound + std::abs(value) * b.bound) / std::max(least, 0x1p-126);
  return rounded(value, spread);
}

Real multiplied(const Real& a, const Real& b) {
  const double spread = a.bound * std::abs(b.value) + b.bound * std::abs(a.value) + a.bound * b.bound;
  return rounded(a.value * b.value, std::isnan(spread) ? 0 : spread);
}

// exp(y * log |x|): the exponent's error comes from its factors.
Real power(const Real& a, const Real& b) {
  const double value = std::pow(a.value, b.value);
  if (a.value == 1 || b.value == 0) return {1, a.bound + b.bound == 0 ? 0 : kInfinity};
  if (a.value == 0 || std::isinf(a.value) || std::isinf(b.value) || std::isnan(value))
    return {value, a.bound + b.bound == 0 ? 0 : kInfinity};
  const double logarithm = std::log(std::abs(a.value)), exponent = b.value * logarithm;
  const double of_log = kFunction * std::abs(logarithm) + a.bound / std::max(std::abs(a.value) - a.bound, 0x1p-126);
  const double of_exponent =
      std::abs(b.value) * of_log + b.bound * (std::abs(logarithm) + of_log) + kU * std::abs(exponent) * 1.01 + kLost;
  if (std::abs(value) * std::exp(std::min(of_exponent, 700.0)) > kLargest && std::abs(value) <= kLargest)
    return {value, kInfinity};
  if (exponent < -86.9) return {value, 0x1p-125 + std::abs(value)};  // exp() is 0 below -87
  return rounded(value, std::abs(value) * std::expm1(std::min(of_exponent, 700.0)), kFunction);
}

Real wave(const Real& x, double value) {
  if (std::isinf(x.value) || std::isnan(x.value)) return {kNan, 0};
  return {value, std::abs(x.value) > 8192 ? 2 : std::min(2.0, x.bound + 0x1p-22)};
}

Real exponential(const Real& x) {
  const Real result = monotonic(x, [](double v) { return std::exp(v); });
  return x.value - x.bound < -87 ? Real{result.value, result.bound + 0x1p-125} : result;
}

double logarithm(double x) { return flushed(x) == 0 ? -kInfinity : std::log(x); }

// The remainder jumps where a quotient is whole.
Real remainder(const Real& a, const Real& b, bool has_sign_of_divisor) {
  double value = std::fmod(a.value, b.value);
  if (has_sign_of_divisor && value != 0 && (value < 0) != (b.value < 0)) value += b.value;
  const bool is_exact = a.bound + b.bound == 0;
  return {value, std::isnan(value) ? 0 : is_exact ? (has_sign_of_divisor ? kU * std::abs(b.value) : 0) : kInfinity};
}

Real chosen(const Real& which, const Real& a, const Real& b) {
  const Real& taken = which.value != 0 ? a : b;
  if (which.bound == 0) return taken;
  const double apart = std::abs(a.value - b.value);
  return {taken.value, (std::isnan(apart) ? kInfinity : apart) + std::max(a.bound, b.bound)};
}

// NaN of the first operand, or of the second.
Real extreme(const Real& a, const Real& b, bool is_greatest) {
  if (std::isnan(a.value) || std::isnan(b.value)) return {kNan, 0};
  return {is_greatest ? std::max(a.value, b.value) : std::min(a.value, b.value), std::max(a.bound, b.bound)};
}

Real operate(Step step, const Real& a, const Real& b, const Real& c) {
  const bool is_unordered = std::isnan(a.value) || std::isnan(b.value);
  switch (step) {
    case Step::add: return rounded(a.value + b.value, a.bound + b.bound);
    case Step::subtract: return rounded(a.value - b.value, a.bound + b.bound);
    case Step::multiply: return multiplied(a, b);
    case Step::divide: return divided(a, b);
    case Step::minimum: return extreme(a, b, false);
    case Step::maximum: return extreme(a, b, true);
    case Step::less: return is_unordered ? truth(false, false) : compared(a, b, a.value < b.value);
    case Step::less_or_equal: return is_unordered ? truth(false, false) : compared(a, b, a.value <= b.value);
    case Step::equal: return is_unordered ? truth(false, false) : compared(a, b, a.value == b.value);
    case Step::logical_and: return truth(a.value != 0 && b.value != 0, a.bound + b.bound > 0);
    case Step::logical_or: return truth(a.value != 0 || b.value != 0, a.bound + b.bound > 0);
    case Step::logical_xor: return truth((a.value != 0) != (b.value != 0), a.bound + b.bound > 0);
    case Step::logical_not: return truth(a.value == 0, a.bound > 0);
    case Step::choose: return chosen(a, b, c);
    case Step::keep: return a;
    case Step::negate: return {-a.value, a.bound};
    case Step::absolute: return {std::abs(a.value), a.bound};
    case Step::sign_of:
      return stepped(a, [](double x) { return std::isnan(x) ? x : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
    case Step::floor: return stepped(a, [](double x) { return std::floor(x); });
    case Step::ceil: return stepped(a, [](double x) { return std::ceil(x); });
    case Step::round: return stepped(a, [](double x) { return std::nearbyint(x); });
    case Step::truncate: return stepped(a, [](double x) { return std::trunc(x); });
    case Step::remainder: return remainder(a, b, false);
    case Step::modulo: return remainder(a, b, true);
    case Step::is_nan: return truth(std::isnan(a.value), false);
    case Step::is_infinite: return truth(std::isinf(a.value), false);
    case Step::square_root:
      return monotonic(
          a, [](double x) { return std::sqrt(flushed(x)); }, 0x1p-20);
    case Step::exponential: return exponential(a);
    case Step::exponential_less_1: return monotonic(a, [](double x) { return std::expm1(x); });
    case Step::logarithm: return monotonic(a, logarithm);
    case Step::logarithm_plus_1: return monotonic(a, [](double x) { return std::log1p(x); });
    case Step::sigmoid: return monotonic(a, [](double x) { return 1 / (1 + std::exp(-x)); });
    case Step::tanh: return monotonic(a, [](double x) { return std::tanh(x); });
    case Step::error_function: return monotonic(a, [](double x) { return std::erf(x); });
    case Step::power: return power(a, b);
    case Step::sine: return wave(a, std::sin(a.value));
    case Step::cosine: return wave(a, std::cos(a.value));
    case Step::arc_tangent: return monotonic(a, [](double x) { return std::atan(x); });
    case Step::bit_and:
    case Step::bit_or:
    case Step::bit_xor:
    case Step::bit_not:
    case Step::shift_left:
    case Step::shift_right: break;  // of integers
  }
  return {kNan, 0};
}

// ---- integers of 32 bits, which wrap --------------------------------------------------------------------------------

int32_t wrapped(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(x))); }

int64_t quotient(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

int64_t modulo(int64_t a, int64_t b) {
  const int64_t rest = a - quotient(a, b) * b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int32_t result = 1, square = wrapped(base);
  for (int64_t left = exponent; left > 0; left /= 2) {
    if (left % 2 == 1) result = wrapped(int64_t{result} * square);
    square = wrapped(int64_t{square} * square);
  }
  return result;
}

int64_t operate(Step step, int64_t a, int64_t b, int64_t c) {
  const auto unsigned_a = static_cast<uint32_t>(a), unsigned_b = static_cast<uint32_t>(b);
  switch (step) {
    case Step::add: return wrapped(a + b);
    case Step::subtract: return wrapped(a - b);
    case Step::multiply: return wrapped(a * b);
    case Step::divide: return wrapped(quotient(a, b));
    case Step::minimum: return std::min(a, b);
    case Step::maximum: return std::max(a, b);
    case Step::less: return a < b;
    case Step::less_or_equal: return a <= b;
    case Step::equal: return a == b;
    case Step::logical_and: return a != 0 && b != 0;
    case Step::logical_or: return a != 0 || b != 0;
    case Step::logical_xor: return (a != 0) != (b != 0);
    case Step::logical_not: return a == 0;
    case Step::choose: return a != 0 ? b : c;
    case Step::keep: return a;
    case Step::negate: return wrapped(-a);
    case Step::absolute: return wrapped(std::abs(a));
    case Step::sign_of: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case Step::remainder: return wrapped(a - quotient(a, b) * b);
    case Step::modulo: return wrapped(modulo(a, b));
    case Step::power: return power(a, b);
    case Step::bit_and: return wrapped(unsigned_a & unsigned_b);
    case Step::bit_or: return wrapped(unsigned_a | unsigned_b);
    case Step::bit_xor: return wrapped(unsigned_a ^ unsigned_b);
    case Step::bit_not: return wrapped(~unsigned_a);
    case Step::shift_left: return unsigned_b > 31 ? 0 : wrapped(unsigned_a << unsigned_b);
    case Step::shift_right: return unsigned_b > 31 ? 0 : wrapped(unsigned_a >> unsigned_b);
    default: return 0;  // floating-point
  }
}

// ---- chains ---------------------------------------------------------------------------------------------------------

template <typename T>
T result_of(const chains::Formula& formula, const std::vector<T>& inputs, T (*constant)(int64_t bits)) {
  std::vector<T> values;
  for (const chains::Value& value : formula.values) {
    if (value.kind == chains::Value::Kind::input) {
      values.push_back(inputs[static_cast<size_t>(value.number)]);
    } else if (value.kind == chains::Value::Kind::constant) {
      values.push_back(constant(value.number));
    } else {
      const auto [a, b, c] = value.sources;
      values.push_back(operate(value.step, values[a], values[b], values[c]));
    }
  }
  return values.back();
}

int64_t integer_constant(int64_t bits) { return wrapped(bits); }
Real real_constant(int64_t bits) { return {double{std::bit_cast<float>(wrapped(bits))}, 0}; }

// Towards zero, as the output's dtype has it.
double as_integer(const Real& x, DType dtype) {
  const double whole = std::isnan(x.value) ? 0 : std::clamp(std::trunc(x.value), -0x1p31, 0x1p31 - 1);
  const auto bits = static_cast<uint64_t>(static_cast<int64_t>(whole));
  if (dtype == DType::u8) return static_cast<double>(static_cast<uint8_t>(bits));
  if (dtype == DType::i8) return static_cast<double>(static_cast<int8_t>(bits));
  return whole;
}

Answer pointwise(const Request& request) {
  std::vector<Operand> operands;
  Shape shape = request.inputs.at("input_1").shape;
  for (const auto& [name, tensor] : request.inputs) shape = widened(shape, tensor.shape);
  for (size_t i = 0; i <= chains::kMostInputs; ++i) {
    const HostTensor* tensor =
        find_input(request, i == chains::kMostInputs ? "mask" : "input_" + std::to_string(i + 1));
    operands.push_back({tensor, tensor ? places_in(tensor->shape, shape) : std::vector<int64_t>()});
  }
  using List = std::vector<int64_t>;
  const chains::Formula formula =
      chains::decoded(attribute<List>(request, "steps"), find_attribute<List>(request, "constants").value_or(List()));
  const DType dtype = request.inputs.at("input_1").dtype;
  const auto word = find_attribute<std::string>(request, "output_dtype");
  const DType output_dtype = word ? *dtype_named(*word) : dtype;
  const bool is_real = dtype == DType::f32 || dtype == DType::f16;
  const bool gives_reals = output_dtype == DType::f32 || output_dtype == DType::f16;
  HostTensor output = zeros(output_dtype, shape);
  Exact exact;
  for (int64_t i = 0; i < element_count(shape); ++i) {
    Real result;
    if (is_real) {
      std::vector<Real> inputs;
      for (size_t k = 0; k < operands.size(); ++k) {
        const Operand& it = operands[k];
        const double value = it.tensor ? element(*it.tensor, it.places[static_cast<size_t>(i)]) : 0;
        inputs.push_back({k == chains::kMostInputs ? double(value != 0) : flushed(value), 0});
      }
      result = result_of<Real>(formula, inputs, real_constant);
      if (!gives_reals) {
        result.bound = result.bound == 0 ? 0 : std::ceil(result.bound);
        result.value = as_integer(result, output_dtype);
      }
    } else {
      std::vector<int64_t> inputs;
      for (size_t k = 0; k < operands.size(); ++k) {
        const Operand& it = operands[k];
        const double value = it.tensor ? element(*it.tensor, it.places[static_cast<size_t>(i)]) : 0;
        inputs.push_back(k == chains::kMostInputs ? int64_t{value != 0} : static_cast<int64_t>(value));
      }
      const auto whole = result_of<int64_t>(formula, inputs, integer_constant);
      result = {gives_reals ? static_cast<double>(static_cast<float>(whole))
                            : as_integer({static_cast<double>(whole), 0}, output_dtype),
                0};
    }
    set_element(output, i, result.value);
    exact.values.push_back(result.value);
    exact.bounds.push_back(result.bound);
  }
  Answer answer;
  answer.outputs.emplace("output", std::move(output));
  answer.exact.emplace("output", std::move(exact));
  return answer;
}

Answer silu_mul(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  Exact elements;
  for (int64_t i = 0; i < element_count(input.shape); ++i) elements.values.push_back(flushed(element(input, i)));
  elements.bounds.assign(elements.values.size(), 0);
  ExactOutput gated = silu_mul(elements, input.dtype, input.shape);
  return {{{"output", std::move(gated.output)}}, {{"output", std::move(gated.exact)}}};
}

}  // namespace

ExactOutput silu_mul(const Exact& input, DType dtype, Shape shape) {
  const int64_t columns = shape.back() /= 2;
  ExactOutput gated{zeros(dtype, shape), {}};
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const auto place = static_cast<size_t>(i / columns * 2 * columns + i % columns);
    const auto other = place + static_cast<size_t>(columns);
    const Real x{input.values[place], input.bounds[place]}, y{input.values[other], input.bounds[other]};
    const Real silu = operate(Step::multiply, x, operate(Step::sigmoid, x, {}, {}), {});
    const Real result = operate(Step::multiply, silu, y, {});
    set_element(gated.output, i, result.value);
    gated.exact.values.push_back(result.value);
    gated.exact.bounds.push_back(result.bound);
  }
  return gated;
}

std::span<const Row> pointwise_rows() {
  static constexpr Row kRows[] = {
      exact_row<pointwise>("pointwise"),
      exact_row<silu_mul>("silu_mul"),
  };
  return kRows;
}

}  // namespace qgen::reference
