// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of int8 convolutions. Of a tile it is the part `tile`, and `place` finds a pixel of the output.
// Otherwise it goes by four neighbouring channels of a pixel:
//
//   store_pixel(uvec4(width, height, channel, image), sums, columns_at(channel));     // channel is a multiple of four
//
// Padding of a packed layout, of channels and of rows, gets the output's zero point. Floating-point outputs are in
// plain buffers.
$gives void store_pixel(uvec4 at, ivec4 sums, Columns columns)
$gives uint last_column()
$gives uint residual_at(uvec4 at)
$gives void store_bytes(uvec4 at, uint word)

uint last_column() { return problem.output_sides[2] - 1u; }
$include "lib/linear_outputs.glsl"

$if output_dtype == i8
${declare_packed(output)}

// Of four channels of a pixel, those that are no padding.
uint stored_bytes(uvec4 at) {
  return at.x < problem.output_sides[0] ? min(problem.output_sides[2] - at.z, 4u) : 0u;
}

// Four bytes of the residual that are added to the outputs from there on.
uint residual_at(uvec4 at) {
$if packed(output_layout) == 2
  return residual_word(output_word(at));
$else
  uint residual = 0u;
  for (uint lane = 0u; lane < stored_bytes(at); ++lane) {
    residual |= residual_byte(output_byte(at + uvec4(0u, 0u, lane, 0u))) << (8u * lane);
  }
  return residual;
$end
}

void store_bytes(uvec4 at, uint word) {
$if packed(output_layout) == 2
  output_store(at, padded(word, stored_bytes(at)));
$else
  const ivec4 stored = unpack_i8(word);
  for (uint lane = 0u; lane < stored_bytes(at); ++lane) {
    output_bytes[output_byte(at + uvec4(0u, 0u, lane, 0u))] = int8_t(stored[lane]);
  }
$end
}

void store_pixel(uvec4 at, ivec4 sums, Columns columns) {
  store_bytes(at, output_of(quantized_outputs(sums, columns), residual_at(at)));
}
$else
${declare(output)}
$include "lib/real_elements.glsl" store

void store_pixel(uvec4 at, ivec4 sums, Columns columns) {
  const vec4 y = linear_outputs(sums, columns);
  const uint count = min(problem.output_sides[2] - at.z, 4u);
  uint place = at.x + at.y * problem.output_strides[1] + at.z * problem.output_strides[2] +
               at.w * problem.output_strides[3];
  for (uint lane = 0u; lane < count; ++lane) {
    store_real(place, activate(flush_subnormal(y[lane])));
    place += problem.output_strides[2];
  }
}
$end

$include "lib/conv_store.glsl" place

$part tile
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
#define ROWS_ARE_NEIGHBOURS  // in lib/matrix_strips.glsl: floating-point images are planes, pixel after pixel

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const uvec3 pixel = pixel_of(row);
  store_pixel(uvec4(output_place(pixel.xy), column, pixel.z), sums, columns);
}
$end

$part place
$gives uvec4 place_of(uint pixel, uint channel)

// The width, height, channel and image of a pixel of the output, counted row by row and image by image, padding of rows
// included.
uvec4 place_of(uint pixel, uint channel) {
  const uint row = pixel / problem.row_pixels;
  return uvec4(pixel % problem.row_pixels, row % problem.output_sides[1], channel, row / problem.output_sides[1]);
}

$part tile_weight
// Sixteen bytes of a row of the weight, for lib/int8_matrix_product.glsl. They are zero past the last column and the
// last vector.
$include "lib/conv_store.glsl" tile
$needs uint weight_row_units()
$needs uint weight_unit(uint unit)  // where a unit stands in a row of the weight
$gives uvec4 load_weight(uint column, uint vector, uint end)

uvec4 load_weight(uint column, uint vector, uint end) {
  if (column >= columns_end() || vector >= end) return uvec4(0u);
  return weight_words[column * weight_row_units() + weight_unit(vector)];
}
