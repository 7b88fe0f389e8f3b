// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reductions by their formulas, in double, and how far computing them in f32 may lead from that: docs/reduction.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/rows.h"
#include "words.h"

namespace qgen::reference {
namespace {

using generated::words::Reduction;

struct Result {
  double value, bound;
};

// A sum of terms that each have `each` roundings.
Result sum_of(const std::vector<double>& terms, double each) {
  double sum = 0, magnitudes = 0;
  for (const double term : terms) {
    sum += term;
    magnitudes += std::abs(term);
  }
  const auto count = static_cast<double>(terms.size());
  if (std::isnan(sum) || std::isinf(sum)) return {sum, 0};
  return {sum, roundings(count + each) * magnitudes + (count + 1) * kLost};
}

// A function whose result a device may have off by 2^-20 of it and 2^-20.
template <typename F>
Result through(const Result& x, F f) {
  const double value = f(x.value);
  if (std::isnan(value) || std::isinf(value))
    return {value, x.bound > 0 && x.value - x.bound <= 0 && x.value != 0 ? kInfinity : 0};
  const double low = f(std::max(x.value - x.bound, 0.0)), high = f(x.value + x.bound);
  return {value, std::max(std::abs(low - value), std::abs(high - value)) + 0x1p-20 * (1 + std::abs(value))};
}

double root(double x) { return std::sqrt(x); }
double logarithm(double x) { return std::log(x); }

Result product_of(const std::vector<double>& terms) {
  double product = 1;
  for (const double term : terms) product *= term;
  const auto count = static_cast<double>(terms.size());
  if (std::isnan(product) || std::isinf(product)) return {product, 0};
  return {product, roundings(count) * std::abs(product) + kLost};
}

Result log_sum_exp(const std::vector<double>& terms) {
  double greatest = -kInfinity;
  for (const double term : terms) greatest = std::isnan(term) || std::isnan(greatest) ? kNan : std::max(greatest, term);
  if (!std::isfinite(greatest)) return {greatest, 0};
  std::vector<double> powers;
  double lost = 0;
  for (const double term : terms) {
    powers.push_back(std::exp(term - greatest));
    // The difference is rounded once, and the function's own bound is the one of lib/exponential.glsl.
    lost += 0x1p-125 + (powers.back() > 0 ? powers.back() * roundings(3 + (greatest - term)) : 0);
  }
  Result sum = sum_of(powers, 0);
  sum.bound += lost;
  const Result result = through(sum, logarithm);
  const double value = greatest + result.value;
  return {value, result.bound + kU * (std::abs(value) + std::abs(greatest) + result.bound)};
}

// NaN comes before every number.
Result extreme(const std::vector<double>& terms, Reduction operation, bool takes_last) {
  const bool is_greatest = operation == Reduction::maximum || operation == Reduction::arg_max;
  const bool gives_place = operation == Reduction::arg_max || operation == Reduction::arg_min;
  size_t best = 0;
  const auto is_before = [&](double a, double b) {
    if (std::isnan(b)) return false;
    return std::isnan(a) || (is_greatest ? a > b : a < b);
  };
  for (size_t i = 1; i < terms.size(); ++i) {
    const bool is_equal = terms[i] == terms[best] || (std::isnan(terms[i]) && std::isnan(terms[best]));
    if (is_before(terms[i], terms[best]) || (takes_last && is_equal)) best = i;
  }
  return {gives_place ? static_cast<double>(best) : terms[best], 0};
}

std::vector<double> changed(std::vector<double> terms, double (*f)(double)) {
  for (double& term : terms) term = f(term);
  return terms;
}
double square(double x) { return x * x; }
double magnitude(double x) { return std::abs(x); }

Result reduced(Reduction operation, const std::vector<double>& terms, bool takes_last) {
  switch (operation) {
    case Reduction::sum: return sum_of(terms, 0);
    case Reduction::l1: return sum_of(changed(terms, magnitude), 0);
    case Reduction::sum_of_squares: return sum_of(changed(terms, square), 1);
    case Reduction::mean: {
      const Result sum = sum_of(terms, 2);
      const auto count = static_cast<double>(terms.size());
      return {sum.value / count, sum.bound / count + roundings(2) * std::abs(sum.value / count) + kLost};
    }
    case Reduction::product: return product_of(terms);
    case Reduction::l2: return through(sum_of(changed(terms, square), 1), root);
    case Reduction::log_sum: return through(sum_of(terms, 0), logarithm);
    case Reduction::log_sum_exp: return log_sum_exp(terms);
    case Reduction::maximum:
    case Reduction::minimum:
    case Reduction::arg_max:
    case Reduction::arg_min: return extreme(terms, operation, takes_last);
  }
  return {kNan, 0};
}

// Of integers, which wrap.
double wrapped(Reduction operation, const std::vector<double>& terms) {
  uint32_t result = operation == Reduction::product ? 1 : 0;
  for (const double term : terms) {
    const auto x = static_cast<uint32_t>(static_cast<int64_t>(term));
    if (operation == Reduction::product) result *= x;
    else if (operation == Reduction::sum_of_squares) result += x * x;
    else if (operation == Reduction::l1) result += term < 0 ? 0u - x : x;
    else result += x;
  }
  return static_cast<double>(static_cast<int32_t>(result));
}

Answer reduce(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const auto operation = word_attribute<Reduction>(request, "operation", generated::words::kReduction);
  const bool is_place = operation == Reduction::arg_max || operation == Reduction::arg_min;
  const bool keeps = attribute<bool>(request, "keepdims"), takes_last = attribute<bool>(request, "takes_last");
  std::vector<bool> goes(input.shape.size(), false);
  for (const int64_t axis : attribute<std::vector<int64_t>>(request, "axes"))
    goes[static_cast<size_t>(axis < 0 ? axis + std::ssize(input.shape) : axis)] = true;
  Shape whole, shape;
  for (size_t d = 0; d < goes.size(); ++d) {
    whole.push_back(goes[d] ? 1 : input.shape[d]);
    if (keeps || !goes[d]) shape.push_back(whole.back());
  }
  // In row-major order, so that a place is one along the axes.
  std::vector<std::vector<double>> terms(static_cast<size_t>(element_count(shape)));
  const Strides strides = row_major_strides(whole);
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    int64_t place = 0, rest = i;
    for (size_t d = goes.size(); d-- > 0; rest /= input.shape[d])
      place += goes[d] ? 0 : rest % input.shape[d] * strides[d];
    terms[static_cast<size_t>(place)].push_back(element(input, i));
  }
  const bool is_extreme = is_place || operation == Reduction::maximum || operation == Reduction::minimum;
  HostTensor output = zeros(is_place ? DType::i32 : input.dtype, shape);
  Exact exact;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Result result = input.dtype == DType::i32 && !is_extreme ? Result{wrapped(operation, terms[i]), 0}
                                                                   : reduced(operation, terms[i], takes_last);
    set_element(output, static_cast<int64_t>(i), result.value);
    exact.values.push_back(result.value);
    exact.bounds.push_back(result.bound);
  }
  Answer answer;
  answer.outputs.emplace("output", std::move(output));
  answer.exact.emplace("output", std::move(exact));
  return answer;
}

// ---- sample ---------------------------------------------------------------------------------------------------------

// The first word of Philox4x32-10.
uint32_t philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter[0];
}

Tensors sample(const Request& request) {
  const HostTensor& logits = request.inputs.at("logits");
  const auto integer = [&](std::string_view operand, int64_t index) {
    return static_cast<int64_t>(element(request.inputs.find(operand)->second, index));
  };
  const std::array seed{static_cast<uint32_t>(integer("seed", 0)), static_cast<uint32_t>(integer("seed", 1))};
  const double temperature = element(request.inputs.at("temperature"), 0);
  const int64_t rows = logits.shape[0], columns = logits.shape[1], top_k = integer("top_k", 0);
  HostTensor output = zeros(DType::i32, {rows});
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> sorted;
    for (int64_t i = 0; i < columns; ++i) {
      const double logit = element(logits, row * columns + i);
      if (!std::isnan(logit)) sorted.push_back(logit);
    }
    std::ranges::sort(sorted, std::greater());
    const bool has_least = top_k > 0 && top_k < std::ssize(sorted);
    const double least = has_least ? sorted[static_cast<size_t>(top_k - 1)] : -kInfinity;
    std::optional<double> best;
    for (int64_t i = 0; i < columns; ++i) {
      const double logit = element(logits, row * columns + i);
      if (std::isnan(logit) || logit < least) continue;
      const uint32_t word = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(integer("draws", 2 * row + 1)),
                                    static_cast<uint32_t>(integer("draws", 2 * row)), 0},
                                   seed);
      const double score = logit / temperature - std::log(-std::log(((word >> 8) | 1) * 0x1p-24));
      if (best && score <= *best) continue;
      best = score;
      set_element(output, row, static_cast<double>(i));
    }
  }
  return {{"output", std::move(output)}};
}

}  // namespace

std::span<const Row> reduction_rows() {
  static constexpr Row kRows[] = {
      exact_row<reduce>("reduce"),
      {"sample", sample},
  };
  return kRows;
}

}  // namespace qgen::reference
