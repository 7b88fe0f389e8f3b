// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, m, n] = sum over k of input[b, m, k] * other[b, k, n] + bias[n], or of other[b, n, k]
//
// An invocation computes one output; neighbours are along n. The kernel supports every shape, and is the baseline of
// the others.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(other)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" load_other
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/batch_matrices.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.batches * problem.m * problem.n) return;
  const uint row = index / problem.n;  // of all batches
  const uint n = index % problem.n;
  const uvec2 first = matrices_of(row / problem.m);
  const uint x = first.x + row % problem.m * problem.k;
  const bool is_transposed = problem.transpose_other != 0u;
  const uint y = first.y + (is_transposed ? n * problem.k : n);
  const uint step = is_transposed ? 1u : problem.n;
  float sum = 0.0;
  for (uint run = 0u; 16u * run < problem.k; ++run) {
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
      const uint k = 16u * run + i;
      if (k < problem.k) sum += load_real(x + k) * load_other(y + k * step);
    }
  }
  store_real(index, finished(sum, n));
}
