// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts weights of lib/weight_q4_rows.glsl to f16 for lib/matrix_weight.glsl, which is exact. An integer u below
// 1024 in the mantissa of 1024 is the half 1024 + u. Two neighbours are in the low nibbles of two bytes, and their
// neighbours four further in the high ones, as sixteen times their value. So two bytes, moved sixteen bits apart, give
// four halves by two masks.
$include "lib/field_of_float.glsl"
$gives uvec4 load_vector(uvec4 load, uint i)

uint low_halves(uint bytes) {
  return packFloat2x16(unpackFloat2x16(bytes & 0x000f000fu | float_bits(0x64006400u)) - float16_t(1032.0));
}

uint high_halves(uint bytes) {
  const f16vec2 fields = unpackFloat2x16(bytes & 0x00f000f0u | float_bits(0x64006400u));  // 1024 + 16 * u
  return packFloat2x16(fma(fields, f16vec2(1.0 / 16.0), f16vec2(-72.0)));
}

// The eight weights of vector `i` of a load.
uvec4 load_vector(uvec4 load, uint i) {
  const uint word = load[i];
  const uint first = bitfieldInsert(word, word >> 8, 16, 16), second = bitfieldInsert(word >> 16, word >> 24, 16, 16);
  return uvec4(low_halves(first), low_halves(second), high_halves(first), high_halves(second));
}
