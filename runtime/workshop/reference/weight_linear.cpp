// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/reference/weight_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/workshop/reference/real_sums.h"

namespace qgen::reference {
namespace {

constexpr int64_t kRun = 16;              // neighbours along k whose products a kernel may turn into a float
constexpr double kScaledAway = 0x1p-112;  // below it an activation may count as zero

struct Sides {
  int64_t m, n, k, groups;
};

Sides sides_of(const WeightLinear& linear) {
  const int64_t n = linear.weight.shape[0], k = linear.weight.shape[1];
  const int64_t groups = n == 0 ? 1 : element_count(linear.weight_scales.shape) / n;
  int64_t m = 1;
  for (size_t d = 0; d + 1 < linear.input.shape.size(); ++d) m *= linear.input.shape[d];
  return {m, n, k, groups};
}

// Outputs of the input's dtype in their order, rows of `width`.
RealOutputs outputs_of(const HostTensor& input, int64_t width) {
  Shape shape = input.shape;
  shape.back() = width;
  return {input.dtype, shape};
}

float input_at(const HostTensor& input, int64_t index) {
  return input.dtype == DType::f16 ? f16_to_f32(input.as<uint16_t>()[index]) : input.as<float>()[index];
}

std::vector<float> row_of(const HostTensor& input, int64_t m, int64_t length) {
  std::vector<float> row(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) row[i] = input_at(input, m * length + i);
  return row;
}

double bias_of(const WeightLinear& linear, int64_t n) {
  return linear.bias ? static_cast<double>(linear.bias->as<float>()[n]) : 0;
}

}  // namespace

// y[m, n] = act(sum over k of x[m, k] * q[n, k] * s[n, g(k)] + bias[n]). An error of x[m, k] enlarges the sum of
// magnitudes, and is added with its factor.
ExactOutput weight_only_linear(const WeightLinear& linear, const Exact& input) {
  const auto [rows, columns, depth, groups] = sides_of(linear);
  const auto q = linear.weight.as<int8_t>();
  const auto scales = linear.weight_scales.as<float>();
  RealOutputs outputs = outputs_of(linear.input, columns);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      RealSum sum;
      for (int64_t group = 0; group < groups; ++group) {
        const double s = scales[n * groups + group];
        for (int64_t k = group * (depth / groups); k < (group + 1) * (depth / groups); ++k) {
          const auto at = static_cast<size_t>(m * depth + k);
          const double x = input.values[at], w = q[n * depth + k], error = input.bounds[at];
          const double greatest = std::abs(x) + error;
          sum.value += x * w * s;
          sum.magnitude += greatest * std::abs(w * s);
          sum.absolute += (error + kScaledAway) * std::abs(w * s) + kSmallestNormal * (greatest * std::abs(w) + 2);
        }
      }
      outputs.add(sum, depth + groups + 8, bias_of(linear, n), linear.activation);
    }
  }
  return std::move(outputs).result();
}

ExactOutput weight_only_linear(const WeightLinear& linear) {
  Exact input;
  for (int64_t i = 0; i < element_count(linear.input.shape); ++i) input.values.push_back(input_at(linear.input, i));
  input.bounds.assign(input.values.size(), 0);
  return weight_only_linear(linear, input);
}

// dx[m, k] = sum over n of dy[m, n] * q[n, k] * s[n, g(k)]
ExactOutput weight_only_backward(const HostTensor& d_output, const HostTensor& weight,
                                 const HostTensor& weight_scales) {
  const auto [rows, depth, columns, groups] = sides_of({d_output, weight, weight_scales});
  const auto q = weight.as<int8_t>();
  const auto scales = weight_scales.as<float>();
  RealOutputs outputs = outputs_of(d_output, columns);
  for (int64_t m = 0; m < rows; ++m) {
    const std::vector<float> row = row_of(d_output, m, depth);
    for (int64_t k = 0; k < columns; ++k) {
      RealSum sum;
      const int64_t group = k / (columns / groups);
      for (int64_t n = 0; n < depth; ++n) {
        const double dy = row[n], w = q[n * columns + k], s = scales[n * groups + group];
        sum.value += dy * w * s;
        sum.magnitude += std::abs(dy * w * s);
        sum.absolute += kSmallestNormal * (std::abs(w * s) + std::abs(dy * w) + 2);
      }
      outputs.add(sum, depth + 8);
    }
  }
  return std::move(outputs).result();
}

// With (s, z) and a the row's parameters and integers, over aligned runs r of sixteen, cut where groups end:
//   A[r] = sum over k in r of (a[k] - z) * q[n, k];   y[m, n] = act(sum over r of A[r] * s * s[n, g(r)] + bias[n])
ExactOutput dynamic_linear(const WeightLinear& linear, MappingType mapping, IntegerBounds bounds) {
  const auto [rows, columns, depth, groups] = sides_of(linear);
  const float eps = linear.input.dtype == DType::f16 ? 0x1p-14f : std::numeric_limits<float>::min();
  const auto q = linear.weight.as<int8_t>();
  const auto scales = linear.weight_scales.as<float>();
  RealOutputs outputs = outputs_of(linear.input, columns);
  std::vector<int64_t> centered(static_cast<size_t>(depth));
  for (int64_t m = 0; m < rows; ++m) {
    const std::vector<float> row = row_of(linear.input, m, depth);
    const auto [scale, zero_point] = choose_qparams(row, mapping, bounds, eps);
    for (int64_t k = 0; k < depth; ++k) centered[k] = quantize(row[k], scale, zero_point, bounds) - zero_point;
    for (int64_t n = 0; n < columns; ++n) {
      RealSum sum;
      int64_t runs = 0;
      for (int64_t begin = 0; begin < depth; ++runs) {
        const int64_t group = depth / groups;
        const int64_t end = std::min((begin / kRun + 1) * kRun, (begin / group + 1) * group);
        int64_t of_run = 0;
        for (int64_t k = begin; k < end; ++k) of_run += centered[k] * q[n * depth + k];
        const double s = static_cast<double>(scale) * static_cast<double>(scales[n * groups + begin / group]);
        sum.value += static_cast<double>(of_run) * s;
        sum.magnitude += std::abs(static_cast<double>(of_run) * s);
        // The product of the scales may be subnormal, and then zero.
        sum.absolute += kSmallestNormal * (std::abs(static_cast<double>(of_run)) + 2);
        begin = end;
      }
      outputs.add(sum, runs + groups + 8, bias_of(linear, n), linear.activation);
    }
  }
  return std::move(outputs).result();
}

// q[n, k] = quantize_affine of x[n, k] with s[n, g(k)] and no zero point, or 0 where that scale is 0.
HostTensor quantize_weight(const HostTensor& input, const HostTensor& weight_scales, IntegerBounds bounds) {
  const int64_t rows = input.shape[0], depth = input.shape[1];
  const int64_t groups = rows == 0 ? 1 : element_count(weight_scales.shape) / rows;
  HostTensor output = zeros(DType::i8, input.shape);
  for (int64_t i = 0; i < rows * depth; ++i) {
    const float s = weight_scales.as<float>()[i / depth * groups + i % depth / (depth / groups)];
    const float x = std::abs(s) < std::numeric_limits<float>::min() ? 0.0f : input_at(input, i);
    output.as<int8_t>()[i] = static_cast<int8_t>(quantize(x, s, 0, bounds));
  }
  return output;
}

// y[i, k] = q[index[i], k] * s[index[i], g(k)], or NaN where there is no row.
HostTensor embedding(const HostTensor& indices, const HostTensor& weight, const HostTensor& weight_scales,
                     DType output_dtype) {
  const int64_t rows = weight.shape[0], depth = weight.shape[1];
  const int64_t groups = rows == 0 ? 1 : element_count(weight_scales.shape) / rows;
  Shape shape = indices.shape;
  shape.push_back(depth);
  HostTensor output = zeros(output_dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t row = indices.as<int32_t>()[i / depth], k = i % depth;
    const bool exists = row >= 0 && row < rows;
    const float y = exists ? dequantize(weight.as<int8_t>()[row * depth + k],
                                        weight_scales.as<float>()[row * groups + k / (depth / groups)], 0)
                           : std::numeric_limits<float>::quiet_NaN();
    set_element(output, i, y);
  }
  return output;
}

}  // namespace qgen::reference
