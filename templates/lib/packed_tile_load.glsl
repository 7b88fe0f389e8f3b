// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads a tile of `input`, int8 in any layout, as rows of the output: words along kLanes, side by side along kRows.
// Lanes, rows and layers past the tensor's sides are undefined. Where the input's blocks are deep each is loaded once,
// as 16 bytes.
$include "lib/packed_tile.glsl"
$gives load_tile

// Rows along this dimension, as the input has them.
const uint kInputRows = ${across(input_layout, output_layout)}u;

uvec4 turned(uvec4 rows) {
$if packed(input_layout) != packed(output_layout)
  return transposed(rows);
$else
  return rows;
$end
}

$if third(output_layout, input_layout) == 3
uvec4 load_tile(uvec4 at) { return turned(input_rows(at)); }
$else
void load_tile(uvec4 at, out uvec4 layer_0, out uvec4 layer_1, out uvec4 layer_2, out uvec4 layer_3) {
$if outer(input_layout) == third(output_layout, input_layout)
$for row in range(4)
  const uvec4 block_${row} = input_load_block(moved_inside(at, kInputRows, ${row}u));
$end
$for layer in range(4)
  layer_${layer} = turned(uvec4(block_0[${layer}], block_1[${layer}], block_2[${layer}], block_3[${layer}]));
$end
$else
$for layer in range(4)
  layer_${layer} = turned(input_rows(moved_inside(at, kLayers, ${layer}u)));
$end
$end
}
$end
