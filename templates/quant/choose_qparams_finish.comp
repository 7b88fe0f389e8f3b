// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The second of two kernels: a workgroup joins the ranges of one block's slices and computes its scale and zero point.
#version 450
${local_size(workgroup)}
${declare(partial)}
${declare(scale)}
${declare(zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float32.glsl"
$include "lib/qparams.glsl"
$include "lib/team_max.glsl"

void main() {
  const uint block = workgroup_index();
  if (block >= problem.parameters) return;
  ivec2 mine = ivec2(0);
  const uint slices = problem.slices;
  for (uint slice = gl_LocalInvocationIndex; slice < slices; slice += ${workgroup}) {
    const uint pair = 2u * (block * slices + slice);
    mine = max(mine, ivec2(partial_data[pair], partial_data[pair + 1u]));
  }
  const ivec2 extremes = team_max(mine, ${workgroup}, gl_LocalInvocationIndex);
  if (gl_LocalInvocationIndex == 0u) {
    const Qparams qparams = qparams_of(extremes);
    scale_data[block] = qparams.scale;
    zero_point_data[block] = qparams.zero_point;
  }
}
