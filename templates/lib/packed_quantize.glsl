// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point values to int8 in any layout, by a quantized() of four values that is defined before this
// file. An invocation computes a tile. If input and output pack different dimensions, the tile is transposed while it
// is still floating-point, which costs nothing.
$include "lib/packed_real_load.glsl"
$include "lib/packed_tile_store.glsl"
$needs quantized

uvec4 quantized_layer(uvec4 at) {
  const uint kInputRows = ${across(input_layout, output_layout)}u;
$for row in range(4)
  const vec4 row_${row} = input_reals(moved_inside(at, kInputRows, ${row}u));
$end
$if packed(input_layout) == packed(output_layout)
  return uvec4(quantized(row_0), quantized(row_1), quantized(row_2), quantized(row_3));
$else
  const mat4 columns = transpose(mat4(row_0, row_1, row_2, row_3));
  return uvec4(quantized(columns[0]), quantized(columns[1]), quantized(columns[2]), quantized(columns[3]));
$end
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, quantized_layer(at), problem.padding);
$else
$for layer in range(4)
  const uvec4 layer_${layer} = quantized_layer(moved_inside(at, kLayers, ${layer}u));
$end
  store_tile(at, layer_0, layer_1, layer_2, layer_3, problem.padding);
$end
}
