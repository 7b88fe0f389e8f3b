// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The outputs of linear/dynamic_plain.comp for weights with one scale per row, from finished integer sums.
// linear/q8_linear_coopmat.comp has written the sums, as [m][n rounded up to four].
#version 450
${extensions()}
${local_size(workgroup)}
${declare(sums, 4)}
${declare(scale)}
${declare(zero_point)}
${declare(weight_scales)}
${declare(weight_sums)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint blocks = (problem.n + 3u) / 4u;
  const uint m = index / blocks;
  if (m >= problem.m) return;
  const uint column = index % blocks * 4u;
  for (uint lane = 0u; lane < min(problem.n - column, 4u); ++lane) {
    const uint n = column + lane;
    const int sum = sums_data[index][lane] - zero_point_data[m] * weight_sums_data[n];
    store_real(m * problem.n + n, finished(float(sum) * weight_scales_data[n] * scale_data[m], n));
  }
}
