// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts weights of eight or four bits exactly to f16, for lib/matrix_weight.glsl. 0x6400 is the f16 number 1024.
// With an integer u below 1024 in its mantissa, it is the f16 number 1024 + u. A subtraction removes 1024 again.
$include "lib/weight_rows.glsl"
$gives uvec4 q8_halves(uvec4 load, uint i)
$gives uint byte_halves(uint bytes)
$gives uint low_halves(uint bytes)
$gives uint high_halves(uint bytes)
$gives uvec4 q4_halves(uvec4 load, uint i)

// Two of `even` and two of `odd`, in turns.
uvec2 as_halves(uint even, uint odd, float16_t offset) {
  const f16vec2 a = unpackFloat2x16(even | float_bits(0x64006400u)) - offset;
  const f16vec2 b = unpackFloat2x16(odd | float_bits(0x64006400u)) - offset;
  return uvec2(packFloat2x16(f16vec2(a.x, b.x)), packFloat2x16(f16vec2(a.y, b.y)));
}

// The lower bytes of both halves of a word, each a weight plus 128.
uint byte_halves(uint bytes) {
  return packFloat2x16(unpackFloat2x16(bytes & 0x00ff00ffu | float_bits(0x64006400u)) - float16_t(1152.0));
}

// The eight weights of vector `i` of a load, of the form weight_q8_rows.
uvec4 q8_halves(uvec4 load, uint i) {
  const uvec2 words = uvec2(load[2u * i], load[2u * i + 1u]) ^ 0x80808080u;  // plus 128
  const uint kLow = 0x00ff00ffu;
  return uvec4(as_halves(words.x & kLow, words.x >> 8 & kLow, float16_t(1152.0)),
               as_halves(words.y & kLow, words.y >> 8 & kLow, float16_t(1152.0)));
}

// Two neighbours are in the low nibbles of two bytes, and their neighbours four further in the high ones, as sixteen
// times their value. So two bytes, moved sixteen bits apart, give four halves by two masks.
uint low_halves(uint bytes) {
  return packFloat2x16(unpackFloat2x16(bytes & 0x000f000fu | float_bits(0x64006400u)) - float16_t(1032.0));
}

uint high_halves(uint bytes) {
  const f16vec2 fields = unpackFloat2x16(bytes & 0x00f000f0u | float_bits(0x64006400u));  // 1024 + 16 * u
  return packFloat2x16(fma(fields, f16vec2(1.0 / 16.0), f16vec2(-72.0)));
}

// The eight weights of vector `i` of a load, of the form weight_q4_rows.
uvec4 q4_halves(uvec4 load, uint i) {
  const uint word = load[i];
  const uint first = bitfieldInsert(word, word >> 8, 16, 16), second = bitfieldInsert(word >> 16, word >> 24, 16, 16);
  return uvec4(low_halves(first), low_halves(second), high_halves(first), high_halves(second));
}
