// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether a result is what was expected. Without tolerance it must be so bit for bit, except for NaN, of which there
// are many.
#pragma once

#include <string>

#include "runtime/library/kernel_info.h"
#include "runtime/reference/exact.h"
#include "runtime/tensor/tensor.h"

namespace qgen::measure {

struct Comparison {
  double largest_error = 0;  // |got - expected|; infinite where only one is NaN or infinite
  std::string fault;  // the first element that is too far off, with its index; or another dtype or shape; or empty
};
// With exact values e, and c that computing may add to each, |got - e| <= c + abs + rel * (|e| + c): the tolerance is
// of what is then rounded.
Comparison compare(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance,
                   const reference::Exact* exact = nullptr);

}  // namespace qgen::measure
