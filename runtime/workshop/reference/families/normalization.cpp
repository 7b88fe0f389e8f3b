// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// softmax, layer_norm and rms_norm by the exact formulas, in double, with the error bound of computing them in f32.
// docs/normalization.md derives each line. kU is the largest relative error of one rounding to f32.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

using RowOf = std::vector<double>;
RowOf row_of(const HostTensor& tensor, int64_t row, int64_t columns) {
  RowOf elements;
  for (int64_t k = 0; k < columns; ++k) elements.push_back(element(tensor, row * columns + k));
  return elements;
}

// Rows of `input`, each through `compute`, which adds a value and a bound for each element.
template <typename Compute>
Answer by_rows(const HostTensor& input, Compute compute) {
  Exact exact;
  const int64_t columns = input.shape.back(), count = element_count(input.shape);
  for (int64_t row = 0; row * columns < count; ++row) compute(row_of(input, row, columns), exact);
  HostTensor output = zeros(input.dtype, input.shape);
  for (int64_t i = 0; i < count; ++i) set_element(output, i, exact.values[static_cast<size_t>(i)]);
  Answer answer;
  answer.outputs.emplace("output", std::move(output));
  answer.exact.emplace("output", std::move(exact));
  return answer;
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// The relative error of exp(difference): the error of exponential(), and the difference's own rounding.
double exponential_error(double difference) { return roundings(2 - difference); }

void add_softmax(const RowOf& x, Exact& exact) {
  double greatest = -kInfinity;
  bool is_undefined = false;
  for (const double element : x) {
    is_undefined |= std::isnan(element) || element == kInfinity;
    greatest = std::max(greatest, element);
  }
  if (is_undefined || greatest == -kInfinity) {
    exact.values.insert(exact.values.end(), x.size(), kNan);
    exact.bounds.insert(exact.bounds.end(), x.size(), 0);
    return;
  }
  const auto of_terms = [](double difference) { return difference < -87 ? 0 : exponential_error(difference); };
  double sum = 0, error = 0;
  for (const double element : x) {
    const double term = std::exp(element - greatest);
    sum += term;
    error += term * of_terms(element - greatest) + kLost;
  }
  const double of_sum = error / sum * 1.01 + roundings(static_cast<double>(x.size()));
  for (const double element : x) {
    const double value = std::exp(element - greatest) / sum;
    // The term, divided by the possible values of the sum, and two more roundings.
    const double ratio = (1 + of_terms(element - greatest)) * (1 + roundings(2)) /
                         std::max(1 - of_sum, std::numeric_limits<double>::min());
    exact.values.push_back(value);
    exact.bounds.push_back(value * (ratio - 1) + kLost);
  }
}

Answer softmax(const Request& request) { return by_rows(request.inputs.at("input"), add_softmax); }

// ---- layer_norm, rms_norm, and those of a sum -----------------------------------------------------------------------

struct Normalization {
  double epsilon;
  bool is_centred;
  const HostTensor *weight, *bias;
};

double f32_epsilon(const Request& request) {
  return static_cast<double>(static_cast<float>(attribute<double>(request, "epsilon")));
}

// `errors` are of the elements x, where they are computed; empty: x is exact.
void add_normalized(const Normalization& norm, const RowOf& x, const RowOf& errors, Exact& exact) {
  const auto columns = static_cast<double>(x.size());
  const double of_sum = roundings(columns + 2);
  const auto error_of = [&](size_t k) { return errors.empty() ? 0 : errors[k]; };
  double total = 0, magnitudes = 0, drift_of_elements = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    total += x[k];
    magnitudes += std::abs(x[k]) + error_of(k);
    drift_of_elements += error_of(k);
  }
  const double mean = norm.is_centred ? total / columns : 0;
  const double mean_error = norm.is_centred ? (of_sum * magnitudes + drift_of_elements) / columns + kLost : 0;

  // Of x - mean; without a mean nothing is subtracted, and nothing rounded.
  const auto difference_error = [&](double d, size_t k) {
    if (!norm.is_centred) return error_of(k);
    const double before = mean_error + error_of(k);
    return before + kU * (std::abs(d) + before) + kLost;
  };
  double squares = 0, drift = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const double d = x[k] - mean, e = difference_error(d, k);
    squares += d * d;
    drift += 2 * std::abs(d) * e + e * e + kLost;
  }
  const double under = squares / columns + norm.epsilon;  // under the root
  const double under_error =
      (drift + of_sum * (squares + drift)) / columns + kU * 2 * (under + drift / columns) + kLost;
  const double factor = 1 / std::sqrt(under);
  // Squares do not become negative, so the root is of epsilon at least. A device's inversesqrt may be off by 2 ulp.
  const double greatest = 1 / std::sqrt(std::max(under - under_error, norm.epsilon * (1 - 2 * kU))) * (1 + 4 * kU);
  const double least = 1 / std::sqrt(under + under_error) * (1 - 4 * kU);
  const double factor_error = std::max(greatest - factor, factor - least);

  for (size_t k = 0; k < x.size(); ++k) {
    const double d = x[k] - mean, normal = d * factor;
    const double weight = norm.weight ? element(*norm.weight, static_cast<int64_t>(k)) : 1;
    const double bias = norm.bias ? element(*norm.bias, static_cast<int64_t>(k)) : 0;
    double error = std::abs(d) * factor_error + difference_error(d, k) * (factor + factor_error);
    error = (error + roundings(2) * (std::abs(normal) + error) + kLost) * std::abs(weight) + kLost;
    const double value = normal * weight + bias;
    exact.values.push_back(value);
    exact.bounds.push_back(error + roundings(1) * (std::abs(value) + error) + kLost);
  }
}

Answer normalized(const Request& request, bool is_centred) {
  const Normalization norm{f32_epsilon(request), is_centred, find_input(request, "weight"),
                           find_input(request, "bias")};
  return by_rows(request.inputs.at("input"), [&](const RowOf& x, Exact& exact) { add_normalized(norm, x, {}, exact); });
}
Answer layer_norm(const Request& request) { return normalized(request, true); }
Answer rms_norm(const Request& request) { return normalized(request, false); }

// The sum is rounded twice, and normalized before an output of f16 rounds it again.
Answer skip_norm(const Request& request, bool is_centred) {
  const Normalization norm{f32_epsilon(request), is_centred, find_input(request, "weight"),
                           find_input(request, "bias")};
  const HostTensor &input = request.inputs.at("input"), &skip = request.inputs.at("skip");
  const HostTensor* bias = find_input(request, "sum_bias");
  const int64_t columns = input.shape.back(), count = element_count(input.shape);
  const DType dtype = input.dtype;
  Exact sum, output;
  for (int64_t row = 0; row * columns < count; ++row) {
    RowOf x, errors;
    for (int64_t k = 0; k < columns; ++k) {
      const int64_t i = row * columns + k;
      const double a = element(input, i), b = element(skip, i), c = bias ? element(*bias, k) : 0;
      x.push_back(a + b + c);
      errors.push_back(roundings(1) * std::abs(a + b) +
                       (bias ? roundings(1) * (std::abs(a + b) * (1 + kU) + std::abs(c)) : 0) + kLost);
    }
    add_normalized(norm, x, errors, output);
    sum.values.insert(sum.values.end(), x.begin(), x.end());
    sum.bounds.insert(sum.bounds.end(), errors.begin(), errors.end());
  }
  Answer answer;
  for (auto& [name, exact] : {std::pair{"sum", &sum}, {"output", &output}}) {
    HostTensor rounded = zeros(dtype, input.shape);
    for (int64_t i = 0; i < count; ++i) set_element(rounded, i, exact->values[static_cast<size_t>(i)]);
    answer.outputs.emplace(name, std::move(rounded));
    answer.exact.emplace(name, std::move(*exact));
  }
  return answer;
}
Answer skip_rms_norm(const Request& request) { return skip_norm(request, false); }
Answer skip_layer_norm(const Request& request) { return skip_norm(request, true); }

}  // namespace

std::span<const Row> normalization_rows() {
  static constexpr Row kRows[] = {
      exact_row<layer_norm>("layer_norm"),
      exact_row<rms_norm>("rms_norm"),
      exact_row<skip_layer_norm>("skip_layer_norm"),
      exact_row<skip_rms_norm>("skip_rms_norm"),
      exact_row<softmax>("softmax"),
  };
  return kRows;
}

}  // namespace qgen::reference
