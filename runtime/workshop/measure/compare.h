// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares a result with its expected value. Without a tolerance both must have the same bits, except that any NaN
// equals any other.
#pragma once

#include <string>

#include "runtime/engine/library/kernel_info.h"
#include "runtime/engine/tensor/tensor.h"
#include "runtime/workshop/reference/exact.h"

namespace qgen::measure {

struct Comparison {
  double largest_error = 0;  // |got - expected|; infinite where only one is NaN or infinite
  std::string fault;  // the first element that differs too much, with its index; or a wrong dtype or shape; empty: none
};
// If the reference gives exact values e with error bounds c, a result passes if |got - e| <= c + abs + rel * (|e| + c):
// the tolerance covers only the rounding of the result.
Comparison compare(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance,
                   const reference::Exact* exact = nullptr);

}  // namespace qgen::measure
