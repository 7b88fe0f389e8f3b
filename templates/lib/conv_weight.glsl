// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads of the weight for the taps of lib/conv_part.glsl, in the order of lib/conv_rows.glsl: where it begins, and
//
//   weight_unit(unit)         where a unit stands in a row of the weight, which has weight_row_units()
$include "lib/conv_part.glsl"
$include "lib/conv_rows.glsl"
$needs const uint kUnits
$needs uint units_of_a_tap()
$needs void settle_tap()
$gives uint weight_unit(uint unit)
$gives void begin_tap(uint unit)

uint weight_unit(uint unit) {
$if direction == transposed
  const Tap walked = tap_of(unit);
  const uvec2 at = part.first + walked.at * uvec2(problem.tap_step[0], problem.tap_step[1]);
  return (at.y * problem.taps[0] + at.x) * units_of_a_tap() + walked.unit;
$else
  return unit;
$end
}

void begin_tap(uint unit) {
$if output_dtype == i32
  tap = tap_of(unit + gl_LocalInvocationIndex % kUnits);
$else
  tap = Tap(uvec2(0u), gl_LocalInvocationIndex % kUnits);
  settle_tap();
$end
}
