// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// With a and b the integers of input and other, z and w their zero points and s and t their scales,
//
//   output[b, m, n] = s[b, m] * t[b, n] * sum over k of (a[b, m, k] - z[b, m]) * (b[b, k, n] - w[b, n])
//
// An invocation computes one output. The kernel supports every shape, and is the baseline of bmm_tiled.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/bmm_matrices.glsl" wide
$include "lib/bmm_matrices.glsl" bytes
$include "lib/bmm_matrices.glsl"
$include "lib/bmm_matrices.glsl" finish

void main() {
  const uint element = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint of_batch = problem.m * problem.n;
  if (element / of_batch >= problem.batches) return;
  const uint batch = element / of_batch;
  const uint m = element % of_batch / problem.n;
  const uint n = element % problem.n;
  const Matrices at = matrices_of(batch);
  const uint row = at.input_first + m * problem.k;
  uvec2 products = uvec2(0u);
  uvec2 inputs = uvec2(0u);
  uvec2 others = uvec2(0u);
  const uint end = problem.k;
  for (uint first = 0u; first < end; first += 16u) {
    int of_run = 0;
    ivec2 sums = ivec2(0);
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
      if (first + i >= end) continue;
      const int a = input_integer(row + first + i);
      const int b = other_integer(at.other_first + (first + i) * problem.n + n);
      of_run += a * b;
      sums += ivec2(a, b);
    }
    products = wide_add(products, widened(of_run));
    inputs = wide_add(inputs, widened(sums.x));
    others = wide_add(others, widened(sums.y));
  }
  finish(at, batch, m, n, products, inputs, others);
}
