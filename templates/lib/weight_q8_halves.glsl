// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts weights of lib/weight_q8_rows.glsl to f16 for lib/matrix_weight.glsl.
$include "lib/weight_halves.glsl"
$gives uvec4 load_vector(uvec4 load, uint i)

// The eight weights of vector `i` of a load.
uvec4 load_vector(uvec4 load, uint i) {
  const uvec2 words = uvec2(load[2u * i], load[2u * i + 1u]) ^ 0x80808080u;  // plus 128
  const uint kLow = 0x00ff00ffu;
  return uvec4(as_halves(words.x & kLow, words.x >> 8 & kLow, float16_t(1152.0)),
               as_halves(words.y & kLow, words.y >> 8 & kLow, float16_t(1152.0)));
}
