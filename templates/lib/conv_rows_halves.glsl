// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl that are eight f16 channels of a pixel; neighbouring channels are one plane apart in
// memory. Taps are whole loads, as in lib/weight_q8_rows.glsl. Elements outside the image count as zero, and so do
// channels that only fill up a tap.
$include "lib/conv_pixels.glsl"
$include "lib/image_bounds.glsl"
$include "lib/conv_rows.glsl"
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives int row_base(ivec2 origin, uint image)
$gives uvec4 row_unit(uint i, bool is_read)

uint units_of_a_tap() { return max(1u, (problem.channels + 15u) / 16u * 2u); }
uvec2 walked_taps() { return uvec2(problem.taps[0], problem.taps[1]); }

// The element that the origin is, of the image's first channel.
int row_base(ivec2 origin, uint image) {
  return int(image * problem.input_strides[3]) + origin.y * int(problem.input_strides[1]) + origin.x;
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec4 row = fetched_rows[i];
  const ivec2 reach = reach_of(tap.at);
  const uint plane = problem.input_strides[2];
  const uint channel = 8u * tap.unit;
  const uint first = uint(row.z + reach.y * int(problem.input_strides[1]) + reach.x) + channel * plane;
  const uint count = is_read && is_inside(row.xy + reach) ? problem.channels - min(channel, problem.channels) : 0u;
  uvec4 unit = uvec4(0u);
  [[unroll]] for (uint lane = 0u; lane < 8u; ++lane) {
    if (lane < count) unit[lane / 2u] |= uint(input_bits[first + lane * plane]) << (16u * (lane % 2u));
  }
  return unit;
}
