// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tiles of a layout conversion: the elements that one invocation reads and writes when a tensor goes from
// `input_layout` to `output_layout`. Four elements along the dimension that the output packs, four rows across, and
// four layers where a block of either layout is deep.
//
// Sixty-four invocations work on a box of neighbouring tiles, whose sides the host chose. They are long enough along
// the fastest axis of the output's memory, and along that of the input's, that both sides move in whole sectors.
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$gives const uint kLanes
$gives const uint kRows
$gives const uint kLayers
$gives uint tile_side(uint dimension)
$gives uvec4 tile_of_invocation()
$gives bool is_outside(uvec4 at)
$gives uvec4 moved(uvec4 at, uint dimension, uint by)
$gives uvec4 moved_inside(uvec4 at, uint dimension, uint by)

const uint kLanes = ${packed(output_layout)}u;
const uint kRows = ${across(output_layout, input_layout)}u;
const uint kLayers = ${third(output_layout, input_layout)}u;  // 3: a tile has one layer

uint tile_side(uint dimension) {
  return dimension == kLanes || dimension == kRows || (dimension == kLayers && dimension != 3u) ? 4u : 1u;
}

// The first coordinate of this invocation's tile. Past the tensor's sides for invocations that have none.
uvec4 tile_of_invocation() {
  const uint invocation = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uvec3 shift = uvec3(problem.box_shifts[0], problem.box_shifts[1], problem.box_shifts[2]);
  const uint tile = invocation % 64u;
  const uvec2 first = divided(invocation / 64u, 0u);
  const uvec2 second = divided(first.x, 1u);
  const uvec3 inside = uvec3(tile, tile >> shift.x, tile >> (shift.x + shift.y)) & ((uvec3(1u) << shift) - 1u);
  const uvec3 walked = (uvec3(first.y, second.y, second.x) << shift) + inside;
  const uvec2 plane = divided(walked.z, 2u);
  uvec4 at;
  at[${first_axis}] = walked.x * tile_side(${first_axis});
  at[${second_axis}] = walked.y * tile_side(${second_axis});
  at[${third_axis}] = plane.y * tile_side(${third_axis});
  at.w = plane.x;
  return at;
}

bool is_outside(uvec4 at) {
  return at.x >= problem.sides[0] || at.y >= problem.sides[1] || at.z >= problem.sides[2] || at.w >= problem.sides[3];
}

uvec4 moved(uvec4 at, uint dimension, uint by) {
  at[dimension] += by;
  return at;
}

// The same, but not past the tensor's side.
uvec4 moved_inside(uvec4 at, uint dimension, uint by) {
  at[dimension] = min(at[dimension] + by, problem.sides[dimension] - 1u);
  return at;
}

$include "lib/transposed_bytes.glsl"
