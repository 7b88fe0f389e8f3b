// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[m, n] = sum over g of weight_scales[n, g] * (sum over k in g of input[m, k] * weight[n, k]) + bias[n]
//
// An invocation computes one output; neighbours are along n. The kernel supports every shape, and is the baseline of
// the others.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form

// Of one group, by aligned runs of sixteen.
float group_sum(uint m, uint n, uint begin, uint end) {
  float sum = 0.0;
  for (uint run = begin / 16u; 16u * run < end; ++run) {
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
      const uint k = 16u * run + i;
      if (k >= begin && k < end) sum += load_real(m * problem.k + k) * float(weight_at(n, k));
    }
  }
  return sum;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.m * problem.n) return;
  const uint m = index / problem.n;
  const uint n = index % problem.n;
  float sum = 0.0;
  for (uint g = 0u; g < problem.groups; ++g) {
    const uint begin = g * problem.group_size;
    sum += weight_scales_data[n * problem.groups + g] * group_sum(m, n, begin, begin + problem.group_size);
  }
  store_real(index, finished(sum, n));
}
