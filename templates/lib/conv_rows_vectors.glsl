// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl that are sixteen channels of a pixel, which lie together: in packed_4c, of channels in
// multiples of sixteen.
${declare_words(input, 4)}
$include "lib/conv_bounds.glsl"
$include "lib/conv_tap.glsl"

int bases[kFetches];  // the vector that the origin is, of the group's first channel

uint units_of_a_tap() { return max(1u, problem.channels / 16u); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int pixel_vectors() { return int(problem.input_sides[2] / 16u); }

void begin_row(uint i, uint image) {
  const int line = int(image * problem.input_sides[1]) + origins[i].y;
  bases[i] = (line * int(problem.input_sides[0]) + origins[i].x) * pixel_vectors() +
             int(part.group * problem.channels / 16u);
}

uvec4 row_unit(uint i) {
  const ivec2 reach = reach_of(tap.at);
  const int offset = (reach.y * int(problem.input_sides[0]) + reach.x) * pixel_vectors() + int(tap.unit);
  return is_inside(origins[i] + reach) ? input_words[bases[i] + offset] : uvec4(zero_point_word());
}
