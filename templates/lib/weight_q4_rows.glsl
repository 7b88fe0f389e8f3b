// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads a weight in the form weight_q4_rows: rows of 16-byte loads, eight integers plus 8 in a word. Byte j of a word
// holds weight j in its low nibble and weight j + 4 in its high one, so that either half of all nibbles is a packed
// vector of four neighbours. The names are those of lib/weight_q8_rows.glsl, which explains how fields become floats.
$gives const uint kPerWord
$gives const uint kPerLoad
$gives const uint kQuads
$gives const vec4 kQuadScale
$gives int weight_at(uint n, uint k)
$gives vec4 weight_quad(uint word, uint quad)
$gives uint quad_element(uint quad, uint lane)
$gives const float kByteFactor
$gives uint weight_bytes(uint word, uint i)
$gives const int kOffset
$gives uint offset_bytes(uint word, uint i)

const uint kPerWord = 8u;
const uint kPerLoad = 32u;
const uint kQuads = 2u;
const vec4 kQuadScale = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

$include "lib/weight_rows.glsl"

int weight_at(uint n, uint k) {
  const uint word = weight_words[4u * n * loads_per_row() + k / kPerWord];
  return int(bitfieldExtract(word, int(k % 4u * 8u + k / 4u % 2u * 4u), 4)) - 8;
}

// Quad 0 is the low half of the word: weights 0, 4, 1, 5; quad 1 the high half: 2, 6, 3, 7.
vec4 weight_quad(uint word, uint quad) {
  const uvec4 fields = uvec4(quad == 0u ? word : word >> 16) & uvec4(0xfu, 0xf0u, 0xf00u, 0xf000u);
  return uintBitsToFloat(fields | float_bits(0x4b000000u)) - vec4(8388616.0, 8388736.0, 8390656.0, 8421376.0);
}

uint quad_element(uint quad, uint lane) { return 2u * quad + lane / 2u + lane % 2u * 4u; }
uint quad_of(uint element) { return element % 4u / 2u; }
uint lane_of(uint element) { return element % 2u * 2u + element / 4u; }

// A nibble in the high half of a byte is the weight times sixteen, once its offset of 8 is gone.
const float kByteFactor = 1.0 / 16.0;
uint weight_bytes(uint word, uint i) {
  const uint signed_nibbles = word ^ 0x88888888u;
  return (i == 0u ? signed_nibbles << 4 : signed_nibbles) & 0xf0f0f0f0u;
}

const int kOffset = 8;
uint offset_bytes(uint word, uint i) { return (i == 0u ? word : word >> 4) & 0x0f0f0f0fu; }
