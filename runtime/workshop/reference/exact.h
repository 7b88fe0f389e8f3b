// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Floating-point outputs with an error bound, since kernels add terms in different orders. The reference gives the
// exact value of each element, and the largest error of computing it in f32.
#pragma once

#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::reference {

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
