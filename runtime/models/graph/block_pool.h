// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which blocks of paged caches belong to which sequence. All layers use the same table. A sequence gets a block when it
// has grown past its last one, and keeps it until it ends. Then other sequences can get it.
//
//   BlockPool pool({.size = 16, .count = 8}, 2);
//   pool.grow(std::array<int64_t, 2>{20, 3});       // tokens of each sequence: blocks 0 and 1, and block 2
//   pool.table(4);                                  // {0, 1, -1, -1}, {2, -1, -1, -1}
//   pool.end(0);
//   pool.grow(std::array<int64_t, 2>{21, 40});      // of the second one: blocks 2, 1 and 0
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
  BlockPool(const Blocks& blocks, size_t sequences)
      : blocks_(blocks), of_sequences_(sequences), has_ended_(sequences) {}

  // The sequence gives its blocks back, and gets none any more.
  void end(size_t sequence);
  // Whether there are blocks for so many tokens of each sequence that has not ended. Error: there are fewer.
  Done check(std::span<const int64_t> lengths) const;
  // Each such sequence gets the blocks for so many tokens. Error: that of check(); then none gets any.
  Done grow(std::span<const int64_t> lengths);
  // i32 [sequences, per_sequence]: the blocks of each sequence, in the order of their tokens.
  HostTensor table(int64_t per_sequence) const;

 private:
  int32_t take();

  Blocks blocks_;
  int32_t used_ = 0;            // the blocks from here on were never taken
  std::vector<int32_t> given_;  // back
  std::vector<std::vector<int32_t>> of_sequences_;
  std::vector<bool> has_ended_;
};

}  // namespace qgen::graph
