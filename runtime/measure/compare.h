// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether a result is what was expected. Without tolerance it must be so bit for bit, but for NaN, of which there are
// many.
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace qgen::measure {

// |got - expected| <= abs + rel * |expected|; or the bound of each element, where there is one.
struct Tolerance {
  double abs = 0;
  double rel = 0;
  std::vector<double> bounds;
};

struct Comparison {
  double largest_error = 0;  // |got - expected|; infinite where only one is NaN or infinite
  std::string fault;  // the first element that is too far off, with its index; or another dtype or shape; or empty
};
Comparison compare(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance);

}  // namespace qgen::measure
