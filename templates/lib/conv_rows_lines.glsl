// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl that are four taps of a line of the window, side by side, of up to four channels: a tap
// of the walk is a line.
$include "lib/conv_tap.glsl"
$include "lib/conv_input.glsl"

uint images[kFetches];

uint units_of_a_tap() { return (problem.taps[0] + 3u) / 4u; }
uvec2 walked_taps() { return uvec2(1u, part.taps.y); }
uint weight_row_units() { return problem.taps[1] * units_of_a_tap(); }

void begin_row(uint i, uint image) { images[i] = image; }

uvec4 row_unit(uint i) {
  uvec4 unit;
  for (uint word = 0u; word < 4u; ++word) {
    unit[word] = four_channels(images[i], origins[i] + reach_of(uvec2(4u * tap.unit + word, tap.at.y)), 0u);
  }
  return unit;
}
