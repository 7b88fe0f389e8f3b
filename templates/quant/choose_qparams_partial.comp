// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The first of two kernels, for blocks too long for one workgroup: finds the range of each slice. Each block is cut
// into `slices`. A workgroup finds the least and greatest element of one slice, and choose_qparams_finish.comp joins
// them. partial[2 * (block * slices + slice)] is the pair.
#version 450
${extensions()}
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(workgroup)}
${declare(input)}
${declare(partial)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/qparams.glsl" extremes
$include "lib/scan_block.glsl"
$if reduce == subgroup
#define TEAM_IS_WORKGROUP  // in lib/team_max.glsl
$end
$include "lib/team_max.glsl"

void main() {
  const uint index = workgroup_index();
  if (index >= problem.parameters * problem.slices) return;
  const uint slice = index % problem.slices;
  const uint begin = min(slice * problem.slice_elements, problem.block_elements);
  const uint end = min(begin + problem.slice_elements, problem.block_elements);
  const ivec2 mine = begin < end ? scan_block(index / problem.slices, begin, end, gl_LocalInvocationIndex, ${workgroup})
                                 : ivec2(0);
  const ivec2 extremes = team_max(mine, ${workgroup}, gl_LocalInvocationIndex);
  if (gl_LocalInvocationIndex == 0u) {
    partial_data[2u * index] = extremes.x;
    partial_data[2u * index + 1u] = extremes.y;
  }
}
