// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Outputs that are made of reals, which kernels add up in an order of their own: no order is the right one, so the
// reference says what each element is exactly, and how far computing it in f32 may lead from that.
#pragma once

#include <vector>

#include "runtime/tensor/tensor.h"

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
