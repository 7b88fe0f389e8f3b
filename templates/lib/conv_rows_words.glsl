// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl, read four channels at a time, in any layout.
$include "lib/conv_tap.glsl"
$include "lib/conv_reach.glsl"
$include "lib/conv_input.glsl"

uint units_of_a_tap() { return max(1u, (problem.channels + 4u * kUnitWords - 1u) / (4u * kUnitWords)); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int row_base(ivec2 origin, uint image) { return int(image); }

uint row_word(uint i, uint word, bool is_read) {
  const uint channel = 4u * (tap.unit * kUnitWords + word);
  const ivec4 row = fetched_rows[i];
  const ivec2 at = row.xy + reach_of(tap.at);
  if (!is_read || channel >= problem.channels) return 0u;
  return four_channels(uint(row.z), at, part.group * problem.channels + channel);
}

uvec4 row_unit(uint i, bool is_read) {
  return uvec4(row_word(i, 0u, is_read), row_word(i, 1u, is_read), row_word(i, 2u, is_read), row_word(i, 3u, is_read));
}
