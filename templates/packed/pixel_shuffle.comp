// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[n, c, h, w] = f(input[n, (c * r + h % r) * r + w % r, h / r, w / r]), where r is problem.upscale and f a
// lookup table. An invocation gathers a tile of the output byte by byte. Neighbours in the output have neighbours in
// the input, so repeated reads of a 32-bit word come from the cache, not from memory.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input)}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/lookup.glsl"
$include "lib/packed_tile.glsl" store

uint shuffled(uvec4 at) {
  const uvec2 w = divided(at.x, 3u);
  const uvec2 h = divided(at.y, 3u);
  return looked_up(input_element(uvec4(w.x, h.x, (at.z * problem.upscale + h.y) * problem.upscale + w.y, at.w)));
}

uint shuffled_word(uvec4 at) {
  return shuffled(at) | shuffled(moved_inside(at, kLanes, 1u)) << 8 | shuffled(moved_inside(at, kLanes, 2u)) << 16 |
         shuffled(moved_inside(at, kLanes, 3u)) << 24;
}

uvec4 shuffled_layer(uvec4 at) {
  return uvec4(shuffled_word(at), shuffled_word(moved_inside(at, kRows, 1u)),
               shuffled_word(moved_inside(at, kRows, 2u)), shuffled_word(moved_inside(at, kRows, 3u)));
}

void main() {
  load_lookup_table();
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, shuffled_layer(at), problem.padding);
$else
$for layer in range(4)
  const uvec4 layer_${layer} = shuffled_layer(moved_inside(at, kLayers, ${layer}u));
$end
  store_tile(at, layer_0, layer_1, layer_2, layer_3, problem.padding);
$end
}
