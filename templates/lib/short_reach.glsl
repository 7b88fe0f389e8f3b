// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether an integer is so small that lib/rounding_shift.glsl can convert the sum of two such integers.
$include "lib/rounding_shift.glsl"
$gives bool is_in_short_reach(int x)

const int kShortReach = 1 << 21;

// No abs(): it would be negative for the least integer.
bool is_in_short_reach(int x) { return -kShortReach <= x && x <= kShortReach; }
bool is_in_short_reach(ivec4 x) { return clamp(x, -kShortReach, kShortReach) == x; }
