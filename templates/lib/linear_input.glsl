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
