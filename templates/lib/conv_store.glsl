// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From the integer sums of a convolution to its outputs, four neighbouring channels of a pixel at a time:
//
//   store_pixel(uvec4(width, height, channel, image), sums, columns_at(channel));     // channel is a multiple of four
//
// Padding of a packed layout, of channels and of rows, gets the output's zero point.
uint last_column() { return problem.output_sides[2] - 1u; }
$include "lib/linear_outputs.glsl"
${declare_packed(output)}

void store_pixel(uvec4 at, ivec4 sums, Columns columns) {
  ivec4 q = quantized_outputs(sums, columns);
  const uint count = at.x < problem.output_sides[0] ? min(problem.output_sides[2] - at.z, 4u) : 0u;
$if packed(output_layout) == 2
  if (count < 4u) {
    for (uint lane = 0u; lane < 4u; ++lane) q[lane] = lane < count ? q[lane] : problem.output_zero_point;
  }
  output_store(at, pack_i8(q));
$else
  for (uint lane = 0u; lane < count; ++lane) {
    output_bytes[output_byte(at)] = int8_t(q[lane]);
    ++at.z;
  }
$end
}

// The place of a pixel of the output, counted row by row and image by image, padding of rows included.
uvec4 place_of(uint pixel, uint channel) {
  const uint row = pixel / problem.row_pixels;
  return uvec4(pixel % problem.row_pixels, row % problem.output_sides[1], channel, row / problem.output_sides[1]);
}
