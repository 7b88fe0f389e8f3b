// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The input pixel from which an output pixel is computed, along the width (axis 0) or the height (docs/resize.md). The
// position is a fraction with a divider as denominator. The template defines which one: const uint kSourceDividers.
$include "lib/quotient.glsl" dividers
$needs const uint kSourceDividers
$gives uvec2 source_of(uint axis, uint place)
$gives uint nearest_source(uint axis, uint place)

// The pixel at or before the position, and the distance of the position after it, in units of 1 / denominator.
uvec2 source_of(uint axis, uint place) {
  const int numerator = int(place * problem.source_step[axis]) + problem.source_offset[axis];
  return divided(uint(max(numerator, 0)), kSourceDividers + axis);
}

uint nearest_source(uint axis, uint place) { return min(source_of(axis, place).x, problem.source_sides[axis] - 1u); }
