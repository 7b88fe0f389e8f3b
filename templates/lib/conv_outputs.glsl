// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of a convolution's tile, whose columns are the output channels of all groups. It stores outputs, or if
// output_dtype is i32 the sums of a slice of k for conv_finish.comp.
$include "lib/conv_part.glsl"
$gives struct Columns
$gives uint columns_end()
$gives bool is_output(uint row, uint column)
$gives uint ceil_div4(uint x)
$gives void store_outputs(uint row, uint column, ivec4 sums, Columns columns)
$gives uint word_at(uint row, uint column)
$gives uint residual_at(uint row, uint column)
$gives void store_bytes(uint row, uint column, uint word)

uint columns_end() { return (part.group + 1u) * problem.n; }
bool is_output(uint row, uint column) { return row < part.rows && column < columns_end(); }

$if output_dtype == i32
uint ceil_div4(uint x) { return (x + 3u) / 4u; }
struct Columns { uint none; };  // which have no values in common

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  output_data[row * ceil_div4(problem.output_sides[2]) + column / 4u] = sums;
}
$elif output_dtype == i8
$include "lib/conv_store.glsl"

$if output_layout == packed_4c and direction == forward
// Rows of x are pixels of the output, in their order.
uint word_at(uint row, uint column) { return row * ceil_div4(problem.output_sides[2]) + column / 4u; }
uint residual_at(uint row, uint column) { return residual_word(word_at(row, column)); }

void store_bytes(uint row, uint column, uint word) {
  output_data[word_at(row, column)] = padded(word, problem.output_sides[2] - column);
}
$else
uvec4 place_of_row(uint row, uint column) {
  const uvec3 pixel = pixel_of(row);
  return uvec4(output_place(pixel.xy), column, pixel.z);
}
uint residual_at(uint row, uint column) { return residual_at(place_of_row(row, column)); }
void store_bytes(uint row, uint column, uint word) { store_bytes(place_of_row(row, column), word); }
$end

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  store_bytes(row, column, output_of(quantized_outputs(sums, columns), residual_at(row, column)));
}
$else
$include "lib/conv_store.glsl"
#define ROWS_ARE_NEIGHBOURS  // in lib/plain_strips.glsl: floating-point images are planes, pixel after pixel

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const uvec3 pixel = pixel_of(row);
  store_pixel(uvec4(output_place(pixel.xy), column, pixel.z), sums, columns);
}
$end
