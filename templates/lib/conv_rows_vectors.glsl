// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl that are sixteen channels of a pixel, adjacent in memory: in packed_4c, of channels in
// multiples of sixteen.
$include "lib/conv_part.glsl"
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives uint weight_row_units()
$gives uvec4 row_unit(uint i, bool is_read)
$gives int row_base(ivec2 origin, uint image)

${declare_words(input, 4)}
$include "lib/conv_input.glsl"
$include "lib/conv_rows.glsl"

uint units_of_a_tap() { return max(1u, problem.channels / 16u); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int pixel_vectors() { return int(problem.input_sides[2] / 16u); }

// The vector that the origin is, of the group's first channel.
int row_base(ivec2 origin, uint image) {
  const int line = int(image * problem.input_sides[1]) + origin.y;
  return (line * int(problem.input_sides[0]) + origin.x) * pixel_vectors() + int(part.group * problem.channels / 16u);
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec2 reach = reach_of(tap.at);
  const int offset = (reach.y * int(problem.input_sides[0]) + reach.x) * pixel_vectors() + int(tap.unit);
  const ivec4 row = fetched_rows[i];
  const int at = row.z + offset;
  uvec4 unit = uvec4(zero_point_word());
  if (is_read && is_inside(row.xy + reach)) unit = input_words[at];  // a load alone is predicated, more is a branch
  return unit;
}
