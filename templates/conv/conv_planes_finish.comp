// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, m, n] = epilogue(sum over slices of partial[slice, b, m, n]), for a convolution computed as products of its
// weight. A row m is an output channel. Rows of `partial` have as many columns as the problem says.
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
  const uint planes = problem.batches * problem.m;
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= planes * problem.n) return;
  const uint plane = index / problem.n;
  const uint from = plane * problem.columns + index % problem.n;
  float sum = 0.0;
  for (uint slice = 0u; slice < problem.slices; ++slice) sum += partial_data[slice * planes * problem.columns + from];
  store_real(index, finished(sum, plane % problem.outputs));
}
