// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tensor with quantization blocks, in as few dimensions as possible. Kernels need one or two divisions per element
// and dimension, so merging dimensions on the host saves them:
//
//   [8, 4, 6, 6] per channel 1, dense    ->  sides 144, 8   blocks 36, 8     one parameter every 36 elements, 4 in turn
//   [8, 4, 6, 6] per tensor, dense       ->  side 1152      block 1152
//
// Dimensions are innermost first here, as in the kernels.
#pragma once

#include <array>

#include "runtime/engine/calls/tensor_view.h"

namespace qgen {

struct BlockedDimension {
  int64_t side = 1;
  int64_t block = 1;             // divides side
  int64_t parameter_stride = 0;  // from one block to the next, among row-major parameters
  int64_t stride = 0;            // from one element to the next, in memory
  friend bool operator==(const BlockedDimension&, const BlockedDimension&) = default;
};
using BlockedShape = std::vector<BlockedDimension>;

// One a dimension of the view; `block` fits its shape (params_shape() says so). No sides of an empty tensor.
BlockedShape blocked_shape(const View& view, const Shape& block);
// As few as possible, none of length 1, so that element and block numbers, parameters and memory stay unchanged.
BlockedShape merged(const BlockedShape& shape);

// Which elements, numbered row-major, have which parameter: every `run` elements the next of all parameters, in turn.
struct ParameterPattern {
  int64_t run = 1;           // at multiples of it, this many elements share a parameter
  bool is_periodic = false;  // false: `run` holds, but the next run is more complicated
};
ParameterPattern parameter_pattern(const BlockedShape& shape);

// Looking the blocks of a word of four elements up takes longer than converting it. So an invocation of the kernels of
// specs/quant converts up to kMostItems words with the same parameters, lane by lane. They are this many words apart,
// and begin at a word of the first `distance` of each kMostItems * distance. 0: no words have the same parameters.
//
//   one parameter for all          256  any would do, and these keep a workgroup's words together
//   runs of 128                      8  a quarter of the run's 32; neighbours store at least 32 bytes in a row
//   columns, rows of 12 elements     3  the same columns, a row further down
inline constexpr int64_t kMostItems = 4;
int64_t item_distance(const ParameterPattern& pattern, int64_t parameters);

// As Problems hold them: dimensions past the shape's rank have side and block 1.
struct DimensionFields {
  uint32_t rank;
  std::array<uint32_t, kMaxRank> sizes, blocks, parameter_strides;
  std::array<int32_t, kMaxRank> strides;
};
DimensionFields fields_of(const BlockedShape& shape);

}  // namespace qgen
