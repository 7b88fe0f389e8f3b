// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A row of f16 activations in shared memory, in the order of the matrices of lib/weight_fragments.glsl. Of each four,
// 0 and 2 are a word, and then 1 and 3.
$include "lib/float16.glsl"
$gives shared uvec4 staged_row
$gives void stage_vector(uint vector, uvec4 words)
$gives float staged_activation(uint k)

shared uvec4 staged_row[${held} == 0u ? 1u : ${held} / 16u];

uvec2 pairs_of(uvec2 words) {
  return uvec2(bitfieldInsert(words.x, words.y, 16, 16), bitfieldInsert(words.y, words.x >> 16, 0, 16));
}

void stage_vector(uint vector, uvec4 words) { staged_row[vector] = uvec4(pairs_of(words.xy), pairs_of(words.zw)); }

float staged_activation(uint k) {
  const uint word = staged_row[k / 8u][k / 4u % 2u * 2u + k % 2u];
  return f16_to_f32(bitfieldExtract(word, int(k / 2u % 2u * 16u), 16));
}
