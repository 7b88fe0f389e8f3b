// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tile of `input` to `output`, from any layout to any other. The includer says what becomes of a word, uint mapped(uint),
// and what `padding` is. A tile with layers goes through registers, so that each side's blocks move as 16 bytes.
$include "lib/packed_tile.glsl"

const uint kInputRows = ${across(input_layout, output_layout)}u;

// Rows as the input has them become rows of the output.
uvec4 turned(uvec4 at, uvec4 rows) {
$if packed(input_layout) != packed(output_layout)
  rows = transposed(rows);
$end
  return padded(at, uvec4(mapped(rows.x), mapped(rows.y), mapped(rows.z), mapped(rows.w)), padding());
}

$if third(output_layout, input_layout) == 3
void transfer(uvec4 at) { output_store_rows(at, turned(at, input_rows(at))); }
$else
void transfer(uvec4 at) {
$if outer(input_layout) == third(output_layout, input_layout)
$for row in range(4)
  const uvec4 block_${row} = input_load_block(moved_inside(at, kInputRows, ${row}u));
$end
$for layer in range(4)
  uvec4 layer_${layer} = uvec4(block_0[${layer}], block_1[${layer}], block_2[${layer}], block_3[${layer}]);
$end
$else
$for layer in range(4)
  uvec4 layer_${layer} = input_rows(moved_inside(at, kLayers, ${layer}u));
$end
$end
  const uint layers = problem.sides[kLayers] - at[kLayers];
$for layer in range(4)
  layer_${layer} = ${layer}u < layers ? turned(at, layer_${layer}) : uvec4(padding());
$end
$if outer(output_layout) == third(output_layout, input_layout)
  const uint rows = problem.sides[kRows] - at[kRows];
$for row in range(4)
  if (${row}u < rows) {
    output_store_block(moved(at, kRows, ${row}u), uvec4(layer_0[${row}], layer_1[${row}], layer_2[${row}], layer_3[${row}]));
  }
$end
$else
$for layer in range(4)
  if (${layer}u < layers) output_store_rows(moved(at, kLayers, ${layer}u), layer_${layer});
$end
$end
}
$end
