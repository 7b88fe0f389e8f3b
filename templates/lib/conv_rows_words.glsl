// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Units of lib/conv_rows.glsl, read four channels at a time, in any layout.
$include "lib/conv_part.glsl"
$include "lib/conv_rows.glsl"
$include "lib/conv_input.glsl"
$needs const uint kUnitWords
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives uint weight_row_units()
$gives uvec4 row_unit(uint i, bool is_read)
$gives int row_base(ivec2 origin, uint image)

uint units_of_a_tap() { return max(1u, (problem.channels + 4u * kUnitWords - 1u) / (4u * kUnitWords)); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int row_base(ivec2 origin, uint image) { return int(image); }

// Four channels from a multiple of four on, where `is_read`, else anything; bytes past the image's last channel are
// anything too. Loads always happen, since one that does waits for no branch: those that are not to be read are of the
// first element.
uint loaded_word(uint image, ivec2 at, uint channel, bool is_read) {
$if packed(input_layout) == 2
  return input_load(is_read ? uvec4(at, channel, image) : uvec4(0u));
$else
  uint word = 0u;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const uvec4 place = uvec4(at, min(channel + lane, problem.input_sides[2] - 1u), image);
    word |= input_element(is_read ? place : uvec4(0u)) << (8u * lane);
  }
  return word;
$end
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec4 row = fetched_rows[i];
  const ivec2 at = row.xy + reach_of(tap.at);
  const bool is_loaded = is_read && is_inside(at);
  uvec4 unit = uvec4(0u);
  [[unroll]] for (uint word = 0u; word < kUnitWords; ++word) {
    const uint channel = 4u * (tap.unit * kUnitWords + word);
    unit[word] = loaded_word(uint(row.z), at, part.group * problem.channels + channel,
                             is_loaded && channel < problem.channels);
  }
  return mix(uvec4(zero_point_word()), unit, bvec4(is_loaded));
}
