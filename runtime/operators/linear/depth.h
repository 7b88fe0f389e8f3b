// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bounds of the linear layers in int8. docs/linear.md says what they compute.
#pragma once

#include <cstdint>

namespace qgen {

// Sums of so many products of int8, and their zero-point corrections, are exact in 32 bits.
constexpr int64_t kMaxLinearDepth = 131072;

}  // namespace qgen
