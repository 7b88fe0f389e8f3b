// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The first kernel of softmax with rows in slices. A workgroup reads a slice once. It stores the key of the slice's
// greatest element m, and the sum of exp(x - m). softmax_join.comp makes the results.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/workgroup_reduce.glsl" subgroups
$include "lib/softmax_vectors.glsl" slices

void main() {
  if (workgroup_index() >= problem.rows * problem.slices) return;   // the same for all members
  uvec4 words[kVectors];
  load_slice(words);
  Greatest mine = greatest_of_nothing();
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) include_vector(mine, words[v]);
  const int key = workgroup_max(key_of_greatest(mine));

  float x[kPerVector];
  float sum = 0.0;
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) sum += weigh(words[v], intBitsToFloat(ordered(key)), x);
  sum = workgroup_sum(sum);
  if (place() == 0u) output_vectors[workgroup_index()] = uvec4(key, floatBitsToUint(sum), 0u, 0u);
}
