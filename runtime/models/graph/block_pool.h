// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which blocks of paged caches belong to which sequence. All layers use the same table. A sequence gets a block when it
// has grown past its last one, and keeps it.
//
//   BlockPool pool({.size = 16, .count = 8}, 2);
//   pool.grow(std::array<int64_t, 2>{20, 3});       // tokens of each sequence: blocks 0 and 1, and block 2
//   pool.table(4);                                  // {0, 1, -1, -1}, {2, -1, -1, -1}
//
// An entry of -1 is no block. New rows there, which are padding, are not stored. Where attention reads such an entry, it
// reads the last block of the caches. So they have one block more than the pool. It is never written, and stays 0.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::graph {

struct Blocks {
  int64_t size = 16;  // in tokens: a power of two
  int64_t count = 0;  // of all sequences together
};

class BlockPool {
 public:
  BlockPool(const Blocks& blocks, size_t sequences) : blocks_(blocks), of_sequences_(sequences) {}

  // Whether there are blocks for so many tokens of each sequence. Error: there are fewer.
  Done check(std::span<const int64_t> lengths) const;
  // Each sequence gets the blocks for so many tokens. Error: that of check(); then none gets any.
  Done grow(std::span<const int64_t> lengths);
  // i32 [sequences, per_sequence]: the blocks of each sequence, in the order of their tokens.
  HostTensor table(int64_t per_sequence) const;

 private:
  Blocks blocks_;
  int32_t used_ = 0;
  std::vector<std::vector<int32_t>> of_sequences_;
};

}  // namespace qgen::graph
