// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads a weight in the form weight_q8_rows: rows of 16-byte loads, four integers in a word.
//
// Kernels that take either form of rows use these names:
//
//   kPerWord, kPerLoad     weights in a word, and in a load
//   weight_at(n, k)        one weight
//   weight_quad(word, i)   quad i of the word's kQuads: four weights as f32, exactly, each divided by its kQuadScale
//   quad_element(i, lane)  which weight of the word lane `lane` of quad i is; quad_of() and lane_of() are its inverse
//   weight_bytes(word, i)  four neighbouring weights from i * 4 on, for dot products, each divided by kByteFactor
//   offset_bytes(word, i)  the same four, each plus kOffset instead
//
// Bytes become f32 without a conversion, which GPUs do at a quarter of their rate or less: an integer u below 2^23 in
// the mantissa of 2^23 is the float 2^23 + u. A field of bits stays in place, which multiplies it by a power of two.
// The activation is multiplied by kQuadScale instead, once for all its weights.
$gives const uint kPerWord
$gives const uint kPerLoad
$gives int weight_at(uint n, uint k)
$gives vec4 weight_quad(uint word, uint quad)
$gives const uint kQuads
$gives const vec4 kQuadScale
$gives uint quad_element(uint quad, uint lane)
$gives uint weight_bytes(uint word, uint i)
$gives const float kByteFactor
$gives const int kOffset
$gives uint offset_bytes(uint word, uint i)

const uint kPerWord = 4u;
const uint kPerLoad = 16u;
const uint kQuads = 1u;
const vec4 kQuadScale = vec4(1.0, 1.0 / 256.0, 1.0, 1.0 / 256.0);

$include "lib/weight_rows.glsl"

int weight_at(uint n, uint k) {
  const uint word = weight_words[4u * n * loads_per_row() + k / kPerWord];
  return bitfieldExtract(int(word), int(k % kPerWord * 8u), 8);
}

vec4 weight_quad(uint word, uint quad) {
  const uint offset = word ^ 0x80808080u;  // plus 128
  const uvec4 fields = uvec4(offset, offset, offset >> 16, offset >> 16) & uvec4(0xffu, 0xff00u, 0xffu, 0xff00u);
  return uintBitsToFloat(fields | float_bits(0x4b000000u)) - vec4(8388736.0, 8421376.0, 8388736.0, 8421376.0);
}

uint quad_element(uint quad, uint lane) { return lane; }
uint quad_of(uint element) { return 0u; }
uint lane_of(uint element) { return element; }

const float kByteFactor = 1.0;
uint weight_bytes(uint word, uint i) { return word; }

const int kOffset = 0;
uint offset_bytes(uint word, uint i) { return word; }
