// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scale and zero point of each block, from its least and greatest element: lib/qparams.glsl has the formulas.
//
// A team of `team` invocations owns a block: 1 for tiny blocks, the whole workgroup for long ones. Its members stride
// over the block and then reduce. They are neighbours, unless no two elements of a block are adjacent. Then neighbours
// belong to neighbouring blocks, as the elements of a matrix row belong to its columns.
//
//   vec     4: blocks are consecutive runs of a dense input, read in words; 1: any strides and blocks, and images
//   reduce  shared: any team, every device; subgroup: the team is the workgroup, and subgroups do most of the work
#version 450
${extensions()}
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/float32.glsl"
$include "lib/qparams.glsl" extremes
$include "lib/scan_block.glsl"
$include "lib/qparams.glsl"
$if reduce == subgroup
#define TEAM_IS_WORKGROUP  // in lib/team_max.glsl
$end
$include "lib/team_max.glsl"

void main() {
  const uint teams = ${workgroup} / ${team};
  const uint self = gl_LocalInvocationIndex;
  const bool are_apart = problem.run == 1u;
  const uint member = are_apart ? self / teams : self % ${team};
  const uint owner = are_apart ? self % teams : self / ${team};
  const uint block = workgroup_index() * teams + owner;
  const bool is_inside = block < problem.parameters;
  const ivec2 mine = is_inside ? scan_block(block, 0u, problem.block_elements, member, ${team}) : ivec2(0);
  const ivec2 extremes = team_max(mine, ${team}, owner * ${team} + member);
  if (is_inside && member == 0u) {
    const Qparams qparams = qparams_of(extremes);
    scale_data[block] = qparams.scale;
    zero_point_data[block] = qparams.zero_point;
  }
}
