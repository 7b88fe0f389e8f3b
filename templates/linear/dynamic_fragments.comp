// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp for few rows of activations, on f16 cooperative matrices with f32 sums. The
// matrices are filled in registers: lib/weight_fragments.glsl describes how.
// linear/dynamic_quantize.comp has quantized the activations.
//
// Integers less their zero point are exact in f16. Sums of blocks are exact in f32, since 128 * 255 * 128 is below 2^24.
#version 450
${extensions()}
$include "lib/weight_fragments.glsl" extensions
${local_size(team.workgroup)}
${declare_words(codes, 4)}
${declare(scale)}
${declare(zero_point)}
${declare(weight_scales)}
${declare_vectors(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form

const uint kVectors = kPerLoad / 16u;  // of activations that meet a load
const bool kIsOneRow = false;
const bool kByFour = false;
$include "lib/weight_fragments.glsl"

float16_t offsets[${blocks.n}];        // 1152 plus the zero point of this invocation's row

void begin_rows(uint first_m) {
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    offsets[j] = float16_t(1152 + zero_point_data[min(first_m + ${matrix.n}u * j + in_row(), problem.m - 1u)]);
  }
}

uvec4 activation_vector(uint row, uint load, uint i) {
  return codes_words[row * (problem.k / 16u) + (load * kVectors + i)];
}

// Activations 0 and 2, then 1 and 3, of the quad-th four of a load.
uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j) {
  const uint word = vectors[quad / 4u][quad % 4u] ^ 0x80808080u;  // plus 128
  const f16vec2 even = unpackFloat2x16(word & 0x00ff00ffu | float_bits(0x64006400u)) - offsets[j];
  const f16vec2 odd = unpackFloat2x16(word >> 8 & 0x00ff00ffu | float_bits(0x64006400u)) - offsets[j];
  return uvec2(packFloat2x16(even), packFloat2x16(odd));
}

float activation(uint m, uint k) {
  const int code = bitfieldExtract(int(codes_words[(m * problem.k + k) / 16u][k / 4u % 4u]), int(k % 4u * 8u), 8);
  return float(code - zero_point_data[m]);
}
float row_scale(uint m) { return scale_data[m]; }
