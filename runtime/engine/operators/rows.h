// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows of a tensor along its last dimension. Linear layers read [..., K] and write [..., N].
#pragma once

#include "runtime/engine/calls/call.h"
#include "vocabulary/integer.h"

namespace qgen {

inline uint32_t rows_of(const Shape& shape) { return u32(element_count(Shape(shape.begin(), shape.end() - 1))); }
inline Shape with_last_side(Shape rows, int64_t side) {
  rows.back() = side;
  return rows;
}

}  // namespace qgen
