// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What becomes of the sums of a tile of a convolution, of which a column is an output channel of all groups: outputs,
// or where output_dtype is i32 the sums of a slice of k, stored for conv_finish.comp.
uint columns_end() { return (part.group + 1u) * problem.n; }
bool is_output(uint row, uint column) { return row < part.rows && column < columns_end(); }

$if output_dtype == i32
uint ceil_div4(uint x) { return (x + 3u) / 4u; }
$include "lib/no_columns.glsl"

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  output_data[row * ceil_div4(problem.output_sides[2]) + column / 4u] = sums;
}
$elif output_dtype == i8
$include "lib/conv_store.glsl"

void store_integers(uint row, uint column, ivec4 q) {
$if output_layout == packed_4c and direction == forward
  // Rows of x are pixels of the output, in their order.
  if (column + 4u <= problem.output_sides[2]) {
    const uint at = row * ceil_div4(problem.output_sides[2]) + column / 4u;
    output_data[at] = output_of(q, residual_word(at));
    return;
  }
$end
  const uvec3 pixel = pixel_of(row);
  store_integers(uvec4(output_place(pixel.xy), column, pixel.z), q);
}

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  store_integers(row, column, quantized_outputs(sums, columns));
}
$else
$include "lib/conv_store.glsl"

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const uvec3 pixel = pixel_of(row);
  store_pixel(uvec4(output_place(pixel.xy), column, pixel.z), sums, columns);
}
$end
