// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The last kernel of softmax with rows in slices. A workgroup joins what softmax_slices.comp stored of all slices of its
// row. Of each slice these are the key of its greatest element m, and the sum of exp(x - m). With M the greatest m, it
// multiplies the sums by exp(m - M), and adds them. Then it computes the results of its own slice.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(partial)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/workgroup_reduce.glsl" subgroups
$include "lib/softmax_vectors.glsl" slices
${declare_vectors(partial)}

float element_of(int key) { return intBitsToFloat(ordered(key)); }

void main() {
  if (workgroup_index() >= problem.rows * problem.slices) return;   // the same for all members
  uvec4 words[kVectors];
  load_slice(words);   // first, so that its loads are in flight together with those of the slices' sums
  const uint first = workgroup_index() / problem.slices * problem.slices;
  int key = kLeastKey;
  for (uint s = place(); s < problem.slices; s += members()) key = max(key, int(partial_vectors[first + s].x));
  key = workgroup_max(key);
  const float greatest = element_of(key);

  float sum = 0.0;
  for (uint s = place(); s < problem.slices; s += members()) {
    const uvec4 of_slice = partial_vectors[first + s];
    sum += weight_of(element_of(int(of_slice.x)), greatest) * uintBitsToFloat(of_slice.y);
  }
  const float factor = reciprocal(workgroup_sum(sum));

  float x[kPerVector];
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
    const uint at = v * members() + place();
    weigh(words[v], greatest, x);
    if (at < vectors_of_slice())
      output_vectors[first_vector() + at] = has_result(key) ? scaled_vector(x, factor) : kUndefined;
  }
}
