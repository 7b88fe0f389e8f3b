// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From the integer sums of a convolution to its outputs, four neighbouring channels of a pixel at a time:
//
//   store_pixel(uvec4(width, height, channel, image), sums, columns_at(channel));     // channel is a multiple of four
//
// Padding of a packed layout, of channels and of rows, gets the output's zero point. Reals lie in plain buffers.
uint last_column() { return problem.output_sides[2] - 1u; }
$include "lib/linear_outputs.glsl"

$if output_dtype == i8
$include "lib/int8_outputs.glsl"
${declare_packed(output)}

void store_integers(uvec4 at, ivec4 q) {
  const uint count = at.x < problem.output_sides[0] ? min(problem.output_sides[2] - at.z, 4u) : 0u;
$if packed(output_layout) == 2
  output_store(at, padded(output_of(q, residual_word(output_word(at))), count));
$else
  uint residual = 0u;
  for (uint lane = 0u; lane < count; ++lane) {
    residual |= residual_byte(output_byte(at + uvec4(0u, 0u, lane, 0u))) << (8u * lane);
  }
  const ivec4 stored = unpack_i8(output_of(q, residual));
  for (uint lane = 0u; lane < count; ++lane) {
    output_bytes[output_byte(at + uvec4(0u, 0u, lane, 0u))] = int8_t(stored[lane]);
  }
$end
}

void store_pixel(uvec4 at, ivec4 sums, Columns columns) { store_integers(at, quantized_outputs(sums, columns)); }
$else
${declare(output)}
$include "lib/store_real.glsl"

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

// The place of a pixel of the output, counted row by row and image by image, padding of rows included.
uvec4 place_of(uint pixel, uint channel) {
  const uint row = pixel / problem.row_pixels;
  return uvec4(pixel % problem.row_pixels, row % problem.output_sides[1], channel, row / problem.output_sides[1]);
}
