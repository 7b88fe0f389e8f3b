// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Resizes an int8 image by nearest pixels (docs/resize.md). An invocation gathers a tile of the output: whole 32-bit
// words if channels are packed, else byte by byte. Padding of the layout becomes 0.
$require input_layout == output_layout
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input)}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" store

const uint kSourceDividers = 3u;
$include "lib/resize_source.glsl"

uvec4 source_at(uvec4 at) { return uvec4(nearest_source(0u, at.x), nearest_source(1u, at.y), at.zw); }

$if packed(output_layout) == 2
uint gathered_word(uvec4 at) { return input_load(source_at(at)); }
$else
uint gathered(uvec4 at) { return input_element(source_at(at)); }

uint gathered_word(uvec4 at) {
  return gathered(at) | gathered(moved_inside(at, kLanes, 1u)) << 8 | gathered(moved_inside(at, kLanes, 2u)) << 16 |
         gathered(moved_inside(at, kLanes, 3u)) << 24;
}
$end

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
  store_tile(at, uvec4(gathered_word(at), gathered_word(moved_inside(at, kRows, 1u)),
                       gathered_word(moved_inside(at, kRows, 2u)), gathered_word(moved_inside(at, kRows, 3u))), 0u);
}
