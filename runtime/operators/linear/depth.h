// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bounds of linear layers and convolutions in int8. docs/linear.md says what they compute.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "runtime/library/error.h"
#include "runtime/operators/flush_subnormal.h"

namespace qgen {

// Sums of so many products of int8, and their zero-point corrections, are exact in 32 bits.
constexpr int64_t kMaxLinearDepth = 131072;

inline Done check_depth(int64_t k) {
  if (k <= kMaxLinearDepth) return std::monostate{};
  return refused(fmt::format("K is {}, and sums are exact up to {}", k, kMaxLinearDepth),
                 "split K, and add the results");
}

// Of an output's scale, as kernels are told it.
inline float inverse(float scale) { return flush_subnormal(1.0f / scale); }

}  // namespace qgen
