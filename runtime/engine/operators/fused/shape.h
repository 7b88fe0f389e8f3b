// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two operands and their output in as few common dimensions as possible: a kernel divides by each dimension for each
// element.
//
//   input [8, 4, 6] per channel 1, other [4, 1] real, output [8, 4, 6] per tensor, innermost first:
//     side 6    input stride 1, no parameter      other stride 0    output no parameter
//     side 4    input stride 6, a parameter each  other stride 1    output no parameter
//     side 8    input stride 24, no parameter     other stride 0    output no parameter
#pragma once

#include <array>

#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/integer.h"

namespace qgen {

// Of one operand along one dimension.
struct FusedSide {
  int64_t stride = 0;            // 0: the operand is repeated
  int64_t block = 1;             // elements that share a parameter
  int64_t parameter_stride = 0;  // 0: all share it
  friend bool operator==(const FusedSide&, const FusedSide&) = default;
};
constexpr size_t kFusedOperands = 3;  // input, other, output
struct FusedDimension {
  int64_t side = 1;
  std::array<FusedSide, kFusedOperands> operands;
  friend bool operator==(const FusedDimension&, const FusedDimension&) = default;
};
using FusedShape = std::vector<FusedDimension>;  // innermost first

// An operand's shape and its block, which fits it.
struct BlockedOperand {
  Shape shape, block;
};
// The operands' shapes broadcast to the output's.
FusedShape fused_shape(const std::array<BlockedOperand, kFusedOperands>& operands);
// As few dimensions as possible, none of length 1, so that elements and parameters stay unchanged. None for a shape
// without elements.
FusedShape merged(const FusedShape& shape);
// All dense, of one shape, and none with more than one parameter.
bool is_simple(const FusedShape& merged);

// In the form of Problems: a number for each of the first N dimensions; past the last, the number of a dimension of
// length 1.
template <size_t N, typename Get>
std::array<uint32_t, N> per_dimension(const FusedShape& shape, Get get) {
  std::array<uint32_t, N> numbers{};
  for (size_t d = 0; d < N; ++d) numbers[d] = u32(get(d < shape.size() ? shape[d] : FusedDimension{}));
  return numbers;
}
template <size_t N>
std::array<uint32_t, N> sizes_of(const FusedShape& shape) {
  return per_dimension<N>(shape, [](const FusedDimension& dimension) { return dimension.side; });
}
template <size_t N>
std::array<uint32_t, N> of_operand(const FusedShape& shape, size_t operand, int64_t FusedSide::*number) {
  return per_dimension<N>(shape, [&](const FusedDimension& dimension) { return dimension.operands[operand].*number; });
}

}  // namespace qgen
