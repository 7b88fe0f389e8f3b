// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[m, n] = epilogue(sum over slices of partial[slice, m, n]): the end of a product with split K.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(partial)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"

void main() {
  const uint count = problem.m * problem.n;
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= count) return;
  float sum = 0.0;
  for (uint slice = 0u; slice < problem.slices; ++slice) sum += partial_data[slice * count + index];
  store_real(index, finished(sum, index % problem.n));
}
