// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp for few rows of activations, on f16 cooperative matrices with f32 sums. The
// matrices are filled in registers: lib/weight_fragments.glsl describes how.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(team.workgroup)}
${declare_vectors(input)}
${declare(input)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/load_real.glsl"
$include "lib/store_real.glsl"
$include "lib/linear_finish.glsl"
$if form == weight_q4_rows
$include "lib/weight_q4_rows.glsl"
$else
$include "lib/weight_q8_rows.glsl"
$end

const uint kVectors = kPerLoad / 8u;  // of activations that meet a load
$include "lib/weight_fragments.glsl"

void begin_rows(uint first_m) {}

uvec4 activation_vector(uint row, uint vector) { return input_vectors[row * (problem.k / 8u) + vector]; }

// Activations 0 and 2, then 1 and 3, of the quad-th four of a load.
uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j) {
  const uvec2 words = quad % 2u == 0u ? vectors[quad / 2u].xy : vectors[quad / 2u].zw;
  return uvec2(bitfieldInsert(words.x, words.y, 16, 16), bitfieldInsert(words.y, words.x >> 16, 0, 16));
}

float activation(uint m, uint k) { return load_real(m * problem.k + k); }
float row_scale(uint m) { return 1.0; }
