// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores a tile to `output`, int8 in any layout: words along kLanes, side by side along kRows. Elements past the
// tensor's sizes become `padding`, and are stored only inside the output's blocks.
$include "lib/packed_tile.glsl"
$gives store_tile

// Lanes and rows that hold no element hold the padding.
uvec4 padded(uvec4 at, uvec4 rows, uint padding) {
  const uint lanes = problem.sides[kLanes] - at[kLanes];
  const uint count = problem.sides[kRows] - at[kRows];
  if (lanes >= 4u && count >= 4u) return rows;
  const uint mask = lanes >= 4u ? 0xffffffffu : (1u << (8u * lanes)) - 1u;
  const uvec4 kept = uvec4(mask, count > 1u ? mask : 0u, count > 2u ? mask : 0u, count > 3u ? mask : 0u);
  return (rows & kept) | (uvec4(padding) & ~kept);
}

$if third(output_layout, input_layout) == 3
void store_tile(uvec4 at, uvec4 rows, uint padding) { output_store_rows(at, padded(at, rows, padding)); }
$else
void store_tile(uvec4 at, uvec4 layer_0, uvec4 layer_1, uvec4 layer_2, uvec4 layer_3, uint padding) {
  const uint layers = problem.sides[kLayers] - at[kLayers];
$for layer in range(4)
  layer_${layer} = ${layer}u < layers ? padded(at, layer_${layer}, padding) : uvec4(padding);
$end
$if outer(output_layout) == third(output_layout, input_layout)
  const uint rows = problem.sides[kRows] - at[kRows];
$for row in range(4)
  if (${row}u < rows) {
    output_store_block(moved(at, kRows, ${row}u),
                       uvec4(layer_0[${row}], layer_1[${row}], layer_2[${row}], layer_3[${row}]));
  }
$end
$else
$for layer in range(4)
  if (${layer}u < layers) output_store_rows(moved(at, kLayers, ${layer}u), layer_${layer});
$end
$end
}
$end
