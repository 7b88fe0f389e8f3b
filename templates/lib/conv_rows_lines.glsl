// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl that are four taps of a line of the window, side by side, of up to four channels: a tap
// of the walk is a line.
$include "lib/conv_tap.glsl"
$include "lib/conv_reach.glsl"
${declare_words(input)}
$include "lib/conv_bounds.glsl"

uint units_of_a_tap() { return (problem.taps[0] + 3u) / 4u; }
uvec2 walked_taps() { return uvec2(1u, part.taps.y); }
uint weight_row_units() { return problem.taps[1] * units_of_a_tap(); }

// The word that the origin is, of packed_4c.
int row_base(ivec2 origin, uint image) {
  return (int(image * problem.input_sides[1]) + origin.y) * int(problem.input_sides[0]) + origin.x;
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec4 row = fetched_rows[i];
  uvec4 unit;
  for (uint word = 0u; word < 4u; ++word) {
    const ivec2 reach = reach_of(uvec2(4u * tap.unit + word, tap.at.y));
    const int at = row.z + reach.y * int(problem.input_sides[0]) + reach.x;
    const bool is_there = is_read && is_inside(row.xy + reach);
    unit[word] = mix(zero_point_word(), input_words[is_there ? at : 0], is_there);
  }
  return unit;
}
