// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[m, k] = sum over n of input[m, n] * (weight[n, k] * weight_scales[n, group of k])
//
// An invocation computes one output; neighbours are along k. Eight of them share a 32-bit word of the weight. The
// kernel supports every shape, and is the baseline of the others.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight_scales)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/weight_rows.glsl" q4

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.m * problem.k) return;
  const uint m = index / problem.k;
  const uint k = index % problem.k;
  const uint group = k / problem.group_size;
  const uint end = problem.n;
  float sum = 0.0;
  for (uint n = 0u; n < end; ++n) {
    const float w = float(weight_at(n, k)) * weight_scales_data[n * problem.groups + group];
    sum += load_real(m * problem.n + n) * w;
  }
  store_real(index, sum);
}
