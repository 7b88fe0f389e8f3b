// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The least and greatest element of a part of a quantization block of `input`, from `begin` to `end`, as f32 bits. A
// member of the team reads every team-th element (vec 1) or 32-bit word of four (vec 4, if blocks are consecutive runs
// of a dense input). Elements that are problem.step apart are found without divisions.
//
// Halves are compared as halves and widened once, at the end.
$include "lib/qparams.glsl" extremes
$include "lib/words.glsl"
$gives ivec2 scan_block(uint block, uint begin, uint end, uint lane, uint team)

$if input_dtype == f16 and input_storage == buffer
const int kSignMask = ~0x7fff;

${declare_bits(input)}

int bits_at(uint index) { return bitfieldExtract(int(uint(input_bits[index])), 0, 16); }
ivec2 widened(ivec2 extremes) {
  return ivec2(floatBitsToInt(f16_to_f32(uint(extremes.x))), floatBitsToInt(f16_to_f32(uint(extremes.y))));
}
$else
const int kSignMask = -0x7fffffff - 1;

$if input_storage == buffer
int bits_at(uint index) { return floatBitsToInt(input_data[index]); }
$end
ivec2 widened(ivec2 extremes) { return extremes; }
$end

$if vec == 4
${declare_words(input, bytes(input_dtype))}

$if input_dtype == f16
ivec4 bits_of(uvec2 words) { return unpack_i16(words); }
$else
ivec4 bits_of(uvec4 words) { return ivec4(words); }
$end

ivec2 scan_elements(uint first, uint last) {
  ivec2 extremes = ivec2(0);
  for (uint i = first; i < last; ++i) extremes = max(extremes, extremes_of(bits_at(problem.first + i), kSignMask));
  return extremes;
}

ivec4 bits_of_word(uint word) { return bits_of(input_words[problem.first / 4u + word]); }

// Whole words by all lanes, four loads in flight at once; the elements before and after them by the first lane.
ivec2 scan_block(uint block, uint begin, uint end, uint lane, uint team) {
  const uint first = block * problem.block_elements + begin;
  const uint last = block * problem.block_elements + end;
  const uint first_word = (first + 3u) / 4u;
  const uint end_word = max(last / 4u, first_word);
  ivec4 positive = ivec4(0), negative = ivec4(0);
  uint word = first_word + lane;
  for (; word + 3u * team < end_word; word += 4u * team) {
    const ivec4 a = bits_of_word(word), b = bits_of_word(word + team);
    const ivec4 c = bits_of_word(word + 2u * team), d = bits_of_word(word + 3u * team);
    positive = max(positive, max(max(a, b), max(c, d)));
    negative = max(negative, max(max(a ^ kSignMask, b ^ kSignMask), max(c ^ kSignMask, d ^ kSignMask)));
  }
  for (; word < end_word; word += team) {
    const ivec4 bits = bits_of_word(word);
    positive = max(positive, bits);
    negative = max(negative, bits ^ kSignMask);
  }
  ivec2 extremes = joined(positive, negative);
  if (lane == 0u) {
    extremes = max(extremes, scan_elements(first, min(4u * first_word, last)));
    extremes = max(extremes, scan_elements(max(4u * end_word, first), last));
  }
  return widened(extremes);
}
$else
$if input_storage == texture3d
$include "lib/texel.glsl"

int bits_in_block(uvec4 corner, uint index) {
  uvec4 at = corner;
  for (uint d = 0u; d < 4u; ++d) {
    at[d] += index % problem.blocks[d];
    index /= problem.blocks[d];
  }
  return floatBitsToInt(imageLoad(input_image, texel_at(at, problem.real_packed))[at[problem.real_packed] % 4u]);
}

uvec4 corner_of(uint block) {
  uvec4 corner;
  for (uint d = 0u; d < 4u; ++d) {
    const uint count = problem.sizes[d] / problem.blocks[d];
    corner[d] = block % count * problem.blocks[d];
    block /= count;
  }
  return corner;
}
$else
int bits_in_block(uint corner, uint index) {
  uint offset = corner;
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    offset += index % problem.blocks[d] * uint(problem.strides[d]);
    index /= problem.blocks[d];
  }
  return bits_at(offset);
}

// Of four elements that a member takes one after the other.
ivec4 four_bits(uint offset, uint apart) {
  return ivec4(bits_at(offset), bits_at(offset + apart), bits_at(offset + 2u * apart), bits_at(offset + 3u * apart));
}

// Eight loads are in flight at once.
ivec2 scan_line(uint corner, uint index, uint end, uint team) {
  const uint step = uint(problem.step), apart = team * step;
  ivec4 positive = ivec4(0), negative = ivec4(0);
  for (; index + 7u * team < end; index += 8u * team) {
    const ivec4 a = four_bits(corner + index * step, apart);
    const ivec4 b = four_bits(corner + (index + 4u * team) * step, apart);
    positive = max(positive, max(a, b));
    negative = max(negative, max(a ^ kSignMask, b ^ kSignMask));
  }
  for (; index < end; index += team) {
    const int bits = bits_at(corner + index * step);
    positive.x = max(positive.x, bits);
    negative.x = max(negative.x, bits ^ kSignMask);
  }
  return joined(positive, negative);
}

uint corner_of(uint block) {
  uint corner = problem.first;
  const uint rank = problem.rank;
  for (uint d = 0u; d < rank; ++d) {
    const uint count = problem.sizes[d] / problem.blocks[d];
    corner += block % count * problem.blocks[d] * uint(problem.strides[d]);
    block /= count;
  }
  return corner;
}
$end

ivec2 scan_block(uint block, uint begin, uint end, uint lane, uint team) {
$if input_storage == texture3d
  const uvec4 corner = corner_of(block);
$else
  const uint corner = corner_of(block);
  if (problem.step != 0) return widened(scan_line(corner, begin + lane, end, team));
$end
  ivec2 extremes = ivec2(0);
  for (uint index = begin + lane; index < end; index += team) {
    extremes = max(extremes, extremes_of(bits_in_block(corner, index), kSignMask));
  }
  return widened(extremes);
}
$end
