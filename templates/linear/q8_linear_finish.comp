// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The end of an int8 linear layer with split K: adds the sums of all slices and applies the epilogue. The sums are
// [slice][m][n rounded up to four].
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, 4)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/linear_epilogue.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint blocks = ceil_div4(problem.n);
  if (index / blocks >= problem.m) return;
  ivec4 sums = ivec4(0);
  for (uint slice = 0u; slice < problem.slices; ++slice) sums += input_data[slice * problem.m * blocks + index];
  const uint column = index % blocks * 4u;
  store_outputs(index / blocks, column, sums, columns_at(column));
}
