// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Copies an int8 tensor from one layout to another. docs/layouts.md defines the padding.
//
//   flat 0   an invocation moves a tile, from any layout to any other
//   flat 1   one layout, and no padding to be made: an invocation moves 16 bytes, whatever the layout is
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
$if flat == 1
$include "lib/grid.glsl"
layout(set = 0, binding = 0, std430) readonly restrict buffer InputBlocks { uvec4 input_blocks[]; };
layout(set = 0, binding = 1, std430) writeonly restrict buffer OutputBlocks { uvec4 output_blocks[]; };

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i < problem.flat_blocks) output_blocks[i] = input_blocks[i];
}
$else
${declare_blocks(input, across(input_layout, output_layout))}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" load
$include "lib/packed_tile.glsl" store

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, load_tile(at), 0u);
$else
  uvec4 layer_0, layer_1, layer_2, layer_3;
  load_tile(at, layer_0, layer_1, layer_2, layer_3);
  store_tile(at, layer_0, layer_1, layer_2, layer_3, 0u);
$end
}
$end
