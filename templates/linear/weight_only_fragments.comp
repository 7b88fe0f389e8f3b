// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp for few rows of activations, on f16 cooperative matrices with f32 sums. The
// matrices are filled in registers: lib/weight_fragments.glsl describes how.
//
//   staged  1: the only row of activations is in shared memory, each four of them in the order of the matrices. For
//           1 x 14336 x 4096 in int4 this takes 12.0 us on an H200, and 13.0 us with 0.
//   at_once 4: a subgroup loads four blocks of k together, each of which is a group
#version 450
${extensions()}
$include "lib/weight_fragments.glsl" extensions
${local_size(team.workgroup)}
$include "lib/weight_only_operands.glsl"
const bool kIsOneRow = ${row.staged} == 1;
const bool kByFour = ${row.at_once} == 4;
$include "lib/weight_fragments.glsl"

// ---- activations ----------------------------------------------------------------------------------------------------

#define STAGED_VECTORS (${row.staged} == 0 || ${held} == 0u ? 1u : ${held} / 16u)
$include "lib/staged_row.glsl"

void begin_rows(uint first_m) {
  if (${row.staged} == 0) return;
  for (uint i = gl_LocalInvocationIndex; i < problem.k / 8u; i += ${team.workgroup}) {
    staged_row[staged_at(i / kVectors, i % kVectors)] =
        uvec4(pairs_of(input_vectors[i].xy), pairs_of(input_vectors[i].zw));
  }
  barrier();
}

uvec4 activation_vector(uint row, uint load, uint i) {
  if (${row.staged} == 1) return staged_row[staged_at(load, i)];
  return input_vectors[row * (problem.k / 8u) + load * kVectors + i];
}

// Of the quad-th four of a load.
uvec2 activation_pairs(uvec4 vectors[kVectors], uint quad, uint j) {
  const uvec2 words = quad % 2u == 0u ? vectors[quad / 2u].xy : vectors[quad / 2u].zw;
  return ${row.staged} == 1 ? words : pairs_of(words);
}

$include "lib/weight_only_operands.glsl" activation
