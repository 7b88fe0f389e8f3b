// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each operation on floats below is one RN of docs/linear.md.
#include "runtime/workshop/reference/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/float32.h"

namespace qgen::reference {
namespace {

// +0 of both zeros.
float positive(float y) { return y > 0 ? y : 0.0f; }

float activated(float y, Activation activation) {
  if (std::isnan(y)) return y;
  switch (activation) {
    case Activation::none: return y;
    case Activation::relu: return positive(y);
    case Activation::relu6: return std::min(positive(y), 6.0f);
    case Activation::hardswish: return quotient(product(y, std::clamp(y + 3.0f, 0.0f, 6.0f)), 6.0f);
  }
  return y;
}

int64_t sum_of(std::span<const int8_t> x, std::span<const int8_t> w, int32_t zero_point) {
  int64_t sum = 0;
  for (size_t k = 0; k < x.size(); ++k) sum += (int64_t{x[k]} - zero_point) * w[k];
  return sum;
}

}  // namespace

float output_of(int64_t sum, size_t n, const HostTensor& scales, const HostTensor* bias, const LinearParams& params) {
  const float scaled = static_cast<float>(sum) * product(params.input_scale, scales.as<float>()[n]);
  const float real = flushed(scaled + (bias ? flushed(bias->as<float>()[n]) : 0.0f));
  return activated(real, params.activation);
}

HostTensor linear(const HostTensor& x, const HostTensor& w, const HostTensor& scales, const HostTensor* bias,
                  const LinearParams& params) {
  const auto n = static_cast<size_t>(w.shape[0]);
  const auto k = static_cast<size_t>(w.shape[1]);
  Shape shape = x.shape;
  shape.back() = w.shape[0];
  HostTensor y = zeros(DType::f32, shape);
  const size_t m = n == 0 ? 0 : y.as<float>().size() / n;
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < n; ++column) {
      const int64_t sum =
          sum_of(x.as<int8_t>().subspan(row * k, k), w.as<int8_t>().subspan(column * k, k), params.input_zero_point);
      y.as<float>()[row * n + column] = output_of(sum, column, scales, bias, params);
    }
  }
  return y;
}

HostTensor linear_q8ta_q8csw(const HostTensor& x, const HostTensor& w, const HostTensor& scales, const HostTensor* bias,
                             const LinearParams& params) {
  const HostTensor q = quantized(x, {params.input_scale, params.input_zero_point});
  return rounded_to(x.dtype, linear(q, w, scales, bias, params));
}

HostTensor rounded_to(DType dtype, const HostTensor& reals) {
  HostTensor rounded = zeros(dtype, reals.shape);
  for (int64_t i = 0; i < element_count(reals.shape); ++i) set_element(rounded, i, element(reals, i));
  return rounded;
}

}  // namespace qgen::reference
