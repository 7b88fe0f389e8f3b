// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Floating-point outputs with an error bound, since kernels add terms in different orders. The reference gives the
// exact value of each element, and the largest error of computing it in f32.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::reference {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-24;      // the largest relative error of one rounding to f32
constexpr double kLost = 0x1p-125;  // the possible exact value of a result that is flushed, or left out

// What `count` roundings may add up to, in relation to their result.
inline double roundings(double count) { return std::expm1(count * kU * 1.01); }

// Of each element of an output, before it is rounded to the output's dtype.
struct Exact {
  std::vector<double> values;
  std::vector<double> bounds;
};

struct ExactOutput {
  HostTensor output;  // the values, rounded
  Exact exact;
};

}  // namespace qgen::reference
