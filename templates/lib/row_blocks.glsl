// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Fetches rows of an int8 input in packed_4h4w into the tile of lib/matrix_tile.glsl. A vector of the buffer is a
// block: four bytes of four rows. Each invocation loads whole blocks, neighbours along k, and puts a word into each of
// the four rows. So each block is loaded once.
//
// If matrices of a batch end with rows of padding, four rows of the product may lie in two blocks. Then an invocation
// puts a vector together from four blocks.
$include "lib/linear_input.glsl"
$include "lib/matrix_tile.glsl"
$needs K_SIZE
$needs const uint kVectors
$gives uvec4 load_input(uint i, uint row, uint vector, uint end)
$gives void put_input()

// The rows of the tile, four together, and the block of the step that the i-th load of this invocation is.
uvec2 block_place(uint i) {
  const uvec2 place = input_place(i);
  return uvec2(place.x / 4u, place.x % 4u * kVectors + place.y);
}

// `row` and `vector` are those of input_place(i). Rows past the last repeat it. Blocks past the end of k may be any
// that exist: the weights are zero there.
uvec4 load_input(uint i, uint row, uint vector, uint end) {
  if (!${rows_are_blocks}) return vector < end ? input_vector(min(row, problem.m - 1u), vector) : uvec4(0u);
  const uint blocks = (K_SIZE + 3u) / 4u;  // of four rows
  const uint block = 4u * (vector - input_place(i).y) + block_place(i).y;
  return input_words[min(row, problem.m - 1u) / 4u * blocks + (${whole_steps} ? block : min(block, blocks - 1u))];
}

void put_input() {
  if (!${rows_are_blocks}) {
    put_down_input();
    return;
  }
  const uint kLanes = 4u / kWords;  // words of 32 bits, in an element of tile_words
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uvec2 place = block_place(i);
    if (kInputFetches * kInvocations == kRows * kVectors || 4u * place.x < kRows) {
      [[unroll]] for (uint row = 0u; row < 4u; ++row) {
        tile_words[(4u * place.x + row) * kPitch + place.y / kLanes][place.y % kLanes] = next_input[i][row];
      }
    }
  }
}
