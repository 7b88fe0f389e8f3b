// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/reference/real_sums.h"

#include <algorithm>
#include <cmath>

namespace qgen::reference {
namespace {

constexpr double kUlp = 0x1p-23;  // an f32 operation errs by this much of its result, or by half of it

// +0 of both zeros.
double positive(double y) { return y > 0 ? y : 0.0; }

double activated(double y, Activation activation) {
  if (std::isnan(y)) return y;
  switch (activation) {
    case Activation::none: return y;
    case Activation::relu: return positive(y);
    case Activation::relu6: return std::min(positive(y), 6.0);
    case Activation::hardswish: return y * (std::clamp(y + 3, 0.0, 6.0) / 6);
  }
  return y;
}

}  // namespace

RealOutputs::RealOutputs(DType dtype, const Shape& shape) { result_.output = zeros(dtype, shape); }

void RealOutputs::add(const RealSum& sum, int64_t roundings, double bias, Activation activation) {
  const double value = activated(sum.value + bias, activation);
  double bound = static_cast<double>(roundings) * kUlp * (sum.magnitude + std::abs(bias)) + sum.absolute;
  // The slope of hardswish is nowhere above 1.5, and it is four roundings itself.
  if (activation == Activation::hardswish) bound = 1.5 * bound + 4 * kUlp * std::abs(value);
  set_element(result_.output, static_cast<int64_t>(result_.exact.values.size()), value);
  result_.exact.values.push_back(value);
  result_.exact.bounds.push_back(bound);
}

}  // namespace qgen::reference
