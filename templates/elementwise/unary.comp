// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A function of one int8 element, by a lookup table, from any layout to any other. The table makes it bit-exact for
// every function, and one module serves all functions.
//
//   flat 0   an invocation makes a tile
//   flat 1   one layout, and no padding to be made: an invocation makes 16 bytes, whatever the layout is
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
$include "lib/lookup.glsl"
$if flat == 1
$include "lib/grid.glsl"
${declare_words(input, 4)}
${declare_words(output, 4)}

void main() {
  load_lookup_table();
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i < problem.flat_blocks) output_words[i] = looked_up_words(input_words[i]);
}
$else
${declare_blocks(input, across(input_layout, output_layout))}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" load
$include "lib/packed_tile.glsl" store

void main() {
  load_lookup_table();
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, looked_up_words(load_tile(at)), problem.padding);
$else
  uvec4 layer_0, layer_1, layer_2, layer_3;
  load_tile(at, layer_0, layer_1, layer_2, layer_3);
  store_tile(at, looked_up_words(layer_0), looked_up_words(layer_1), looked_up_words(layer_2), looked_up_words(layer_3),
             problem.padding);
$end
}
$end
