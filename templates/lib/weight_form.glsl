// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packs the 32-bit words of a weight form. For each element of its word, an invocation computes the block that holds
// it, and from that the row and column. runtime/engine/tensor/weight_form.cpp computes the opposite. The problem holds
// a row of its table.
$needs int element_at(uvec2 place)  // at (row, column)
$gives uint word_at(uint index)

int element_at(uvec2 place);  // row and column; 0 past the end of the weight

// Row and column in its block of the i-th element there.
uvec2 place_in_block(uint i) {
  if (problem.pair_n != 0u) {
    const uint row = i / 2u / problem.block_k;
    return uvec2(row / problem.pair_n * 2u * problem.pair_n + row % problem.pair_n + i % 2u * problem.pair_n,
                 i / 2u % problem.block_k);
  }
  if (problem.pair_k != 0u) {
    const uint columns = problem.block_k / 2u;
    const uint column = i / 2u % columns;
    return uvec2(i / 2u / columns,
                 column / problem.pair_k * 2u * problem.pair_k + column % problem.pair_k + i % 2u * problem.pair_k);
  }
  return uvec2(i / problem.block_k, i % problem.block_k);
}

uint word_at(uint index) {
  const uint elements = problem.block_n * problem.block_k;
  const uint per_word = 32u / problem.bits;
  // A word never reaches into the next block.
  const uint block = index / (elements / per_word);
  const uint first = index % (elements / per_word) * per_word;
  const uvec2 origin = problem.k_outer != 0u ? uvec2(block % problem.blocks_n, block / problem.blocks_n)
                                             : uvec2(block / problem.blocks_k, block % problem.blocks_k);
  uint word = 0u;
  for (uint i = 0u; i < per_word; ++i) {
    const int value = element_at(origin * uvec2(problem.block_n, problem.block_k) + place_in_block(first + i));
    const uint field = problem.bits == 4u ? uint(clamp(value, -8, 7) + 8) : uint(value) & 0xffu;
    word |= field << (i * problem.bits);
  }
  return word;
}
