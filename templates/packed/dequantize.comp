// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dequantizes int8 in any layout to floating-point values, per tensor (lib/q8ta.glsl has the formula). An invocation
// computes a tile, and transposes it while it is still int8.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input, across(input_layout, output_layout))}
${declare(output)}
$include "lib/packed_tile_load.glsl"
$include "lib/packed_real_store.glsl"
$include "lib/q8ta.glsl"

void store_layer(uvec4 at, uvec4 rows) {
  const uint count = problem.sides[kRows] - at[kRows];
$for row in range(4)
  if (${row}u < count) {
    output_store_reals(moved(at, kRows, ${row}u), dequantized(rows[${row}], problem.scale, problem.zero_point));
  }
$end
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_layer(at, load_tile(at));
$else
  uvec4 layer_0, layer_1, layer_2, layer_3;
  load_tile(at, layer_0, layer_1, layer_2, layer_3);
  const uint layers = problem.sides[kLayers] - at[kLayers];
$for layer in range(4)
  if (${layer}u < layers) store_layer(moved(at, kLayers, ${layer}u), layer_${layer});
$end
$end
}
