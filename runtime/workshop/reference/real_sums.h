// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Outputs that are sums of floating-point products: in double, with the largest error of adding them in f32, in any
// order. docs/linear_weights.md derives it.
#pragma once

#include <cmath>

#include "runtime/workshop/reference/exact.h"
#include "runtime/workshop/reference/float32.h"
#include "runtime/workshop/reference/linear.h"

namespace qgen::reference {

// The sum of one output, the sum of its terms' magnitudes, and the possible loss by subnormals.
struct RealSum {
  double value = 0, magnitude = 0, absolute = 0;

  // For two numbers that a kernel may hold as subnormals, and whose product may be one.
  void add_product(double a, double b) {
    value += a * b;
    magnitude += std::abs(a * b);
    absolute += kSmallestNormal * (std::abs(a) + std::abs(b) + 2);
  }
};

// Outputs in their order.
class RealOutputs {
 public:
  RealOutputs(DType dtype, const Shape& shape);

  // Adds the bias and applies the activation to a sum that takes `roundings` f32 operations.
  void add(const RealSum& sum, int64_t roundings, double bias = 0, Activation activation = Activation::none);

  ExactOutput result() && { return std::move(result_); }

 private:
  ExactOutput result_;
};

}  // namespace qgen::reference
