// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The number of units in a row of lib/conv_rows.glsl, and the tap of each unit. Included before it.
$include "lib/conv_tap.glsl"
$needs uint units_of_a_tap()
$needs uvec2 walked_taps()
$needs void settle_tap()
$gives uint units_of_a_row()
$gives Tap tap_of(uint unit)

uint units_of_a_row() {
  return problem.channels == 0u ? 0u : walked_taps().x * walked_taps().y * units_of_a_tap();
}

Tap tap_of(uint unit) {
  const uint index = unit / units_of_a_tap();
  const uint width = max(1u, walked_taps().x);  // a phase may have no tap
  return Tap(uvec2(index % width, index / width), unit % units_of_a_tap());
}

void settle_tap();  // lib/conv_rows.glsl
