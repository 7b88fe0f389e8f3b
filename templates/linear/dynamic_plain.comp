// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// With a[m, k] the integers, s[m] the scales and z[m] the zero points that quantizing rows of activations gives,
//
//   output[m, n] = bias[n] + sum over groups g of s[m] * weight_scales[n, g]
//                                                * sum over k in g of (a[m, k] - z[m]) * weight[n, k]
//
// A workgroup computes the scale and zero point of a row; then each invocation computes one output. At most sixteen
// products are added up as integers before they become a float. The kernel supports every shape, and is the baseline of
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
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/qparams.glsl" extremes
$include "lib/qparams.glsl"
$include "lib/team_max.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
#define UNPACK_INPUT unpack_${input_dtype}
const uint kRowInvocations = ${workgroup};
const uint kUnrolled = 4u;
$include "lib/activation_rows.glsl"
$include "lib/weight_rows.glsl" form

// Of one group, by aligned runs of sixteen.
float group_sum(uint m, uint n, uint begin, uint end, float inverse_scale, int zero_point) {
  float sum = 0.0;
  for (uint run = begin / 16u; 16u * run < end; ++run) {
    int of_run = 0;
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
      const uint k = 16u * run + i;
      if (k < begin || k >= end) continue;
      const float x = load_real(m * problem.k + k);
      const int q = quantize(x, inverse_scale, zero_point, problem.quant_min, problem.quant_max);
      of_run += (q - zero_point) * weight_at(n, k);
    }
    sum += float(of_run);
  }
  return sum;
}

void main() {
  const uint columns = (problem.n + ${workgroup} - 1u) / ${workgroup};
  const uint m = workgroup_index() / columns;
  if (m >= problem.m) return;
  const Qparams qparams = qparams_of_row(m);
  const uint n = workgroup_index() % columns * ${workgroup} + gl_LocalInvocationIndex;
  if (n >= problem.n) return;
  const float inverse_scale = quantizer(qparams.scale);
  float sum = 0.0;
  for (uint g = 0u; g < problem.groups; ++g) {
    const uint begin = g * problem.group_size;
    const float scale = qparams.scale * weight_scales_data[n * problem.groups + g];
    sum += scale * group_sum(m, n, begin, begin + problem.group_size, inverse_scale, qparams.zero_point);
  }
  store_real(m * problem.n + n, finished(sum, n));
}
