// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Joins the sums that each slice of k gave, [slice][m][outputs rounded up to four], and makes outputs of them.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(sums, 4)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare_problem()}
$include "lib/grid.glsl"

int weight_sum(uint n) { return weight_sums_data[n]; }
$include "lib/conv_store.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint blocks = ceil_div4(problem.output_sides[2]);
  if (index / blocks >= problem.m) return;
  ivec4 sums = ivec4(0);
  for (uint slice = 0u; slice < problem.slices; ++slice) sums += sums_data[slice * problem.m * blocks + index];
  const uint channel = index % blocks * 4u;
  store_pixel(place_of(index / blocks, channel), sums, columns_at(channel));
}
