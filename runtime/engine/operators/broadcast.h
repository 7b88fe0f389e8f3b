// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two shapes, broadcast as NumPy does: aligned at their last dimensions, sides of 1 repeated.
//
//   [2, 3, 4, 5, 6] and [4, 1, 6]        [2, 3, 4, 5, 6]: the batch of 6 is one part, in which the second is repeated
//   [2, 3, 4, 5, 6] and [3, 4, 5, 6]     the batch is 3 of both, then 2 in which the second is repeated: two parts
//
// Kernels see width, height, channels and one batch. Neighbouring dimensions of the batch in which the same operands
// are repeated are one part of it.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/engine/tensor/packed_layout.h"

namespace qgen {

struct BatchPart {
  int64_t side;
  std::array<int64_t, 2> strides;  // of the two operands, in batches; 0: repeated
};

struct Broadcast {
  Shape shape;
  std::array<Sides, 2> sides;    // of the two operands, as they stand in `shape`
  std::vector<BatchPart> parts;  // innermost first; none for a batch of 1
};

// Errors: two sides that differ, and neither is 1; of broadcast(), a common shape that check_shape() refuses too.
Expected<Shape> common_shape(const Shape& a, const Shape& b);
Expected<Broadcast> broadcast(const Shape& a, const Shape& b);
// Of matrices [..., M, K] times [..., K, N], whose batches are broadcast.
inline constexpr size_t kBatchRank = kMaxRank - 2;
Expected<Shape> product_shape(const Shape& a, const Shape& b);

}  // namespace qgen
