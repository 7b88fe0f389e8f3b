// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads rows of the int8 operand `input`, sixteen or four bytes at a time. A row may begin at any byte. Bytes past k
// may have any value: weights are zero there. Rows are the rows of all matrices of a batch, one after the other.
$gives uint input_word(uint row, uint word)
$gives uvec4 input_vector(uint row, uint vector)

${declare_words(input, 4)}

$if input_layout == packed_4h4w
// A vector of the buffer is four bytes of four rows; a matrix ends with rows of padding.
uvec2 block_of(uint row) {
  const uint padded = row / problem.matrix_rows * ((problem.matrix_rows + 3u) / 4u * 4u) + row % problem.matrix_rows;
  return uvec2(padded / 4u * ((problem.k + 3u) / 4u), padded % 4u);
}

uint input_word(uint row, uint word) {
  const uvec2 block = block_of(row);
  return input_words[block.x + word][block.y];
}

uvec4 input_vector(uint row, uint vector) {
  const uvec2 block = block_of(row);
  const uint words = (problem.k + 3u) / 4u;
  uvec4 result;
  for (uint i = 0u; i < 4u; ++i) {
    result[i] = 4u * vector + i < words ? input_words[block.x + 4u * vector + i][block.y] : 0u;
  }
  return result;
}
$elif is_aligned
uint input_word(uint row, uint word) { return input_words[row * (problem.k / 16u) + word / 4u][word % 4u]; }
uvec4 input_vector(uint row, uint vector) { return input_words[row * (problem.k / 16u) + vector]; }
$else
// Sixteen bytes that begin anywhere in the buffer are cut from the two vectors that hold them.
uvec4 vector_at(uint byte, uint last) {
  const uvec4 a = input_words[byte / 16u];
  const uvec4 b = input_words[min(byte / 16u + 1u, last)];
  uvec4 words = a;
  uvec4 next = uvec4(a.yzw, b.x);
  const uint first = byte / 4u % 4u;
  if (first == 1u) { words = next; next = uvec4(a.zw, b.xy); }
  if (first == 2u) { words = uvec4(a.zw, b.xy); next = uvec4(a.w, b.xyz); }
  if (first == 3u) { words = uvec4(a.w, b.xyz); next = b; }
  const uint shift = byte % 4u * 8u;
  return shift == 0u ? words : (words >> shift) | (next << (32u - shift));
}

uint row_bytes() {
$if input_layout == packed_4w
  return (problem.k + 3u) / 4u * 4u;
$else
  return problem.k;
$end
}

uvec4 input_vector(uint row, uint vector) {
  const uint last = (problem.m * row_bytes() - 1u) / 16u;
  return vector_at(row * row_bytes() + 16u * vector, last);
}

uint input_word(uint row, uint word) {
  const uint last = (problem.m * row_bytes() - 1u) / 16u;
  const uint byte = row * row_bytes() + 4u * word;
  const uint a = input_words[byte / 16u][byte / 4u % 4u];
  const uint following = min(byte / 4u + 1u, 4u * last + 3u);
  const uint b = input_words[following / 4u][following % 4u];
  const uint shift = byte % 4u * 8u;
  return shift == 0u ? a : (a >> shift) | (b << (32u - shift));
}
$end

$part tile
// Loads of the rows and columns of a tile, for lib/int8_matrix_product.glsl.
$include "lib/linear_input.glsl"
$include "lib/matrix_tile.glsl"
$needs K_SIZE
$needs N_SIZE
$needs const uint kVectors
$gives uvec4 load_input(uint i, uint row, uint vector, uint end)
$gives uvec4 load_weight(uint column, uint vector, uint end)
$gives void put_input()

// Rows past the last repeat it, and so do columns. Their results are not stored.
$if input_layout == packed_4h4w
// A vector of the buffer is a block: four bytes of four rows. Each invocation loads whole blocks, neighbours along k,
// and puts a word into each of the four rows. So each block is loaded once. If matrices of a batch end with rows of
// padding, four rows of the product may lie in two blocks. Then an invocation puts a vector together from four blocks.

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
$else
uvec4 load_input(uint i, uint row, uint vector, uint end) {
  if (!${whole_steps} && vector >= end) return uvec4(0u);
$if is_aligned
  return input_words[min(row, problem.m - 1u) * (K_SIZE / 16u) + vector];
$else
  return input_vector(min(row, problem.m - 1u), vector);
$end
}
$end

uvec4 load_weight(uint column, uint vector, uint end) {
  if (!${whole_steps} && vector >= end) return uvec4(0u);
  return weight_words[min(column, N_SIZE - 1u) * ((K_SIZE + 15u) / 16u) + vector];
}
