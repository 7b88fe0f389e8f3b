// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Integers of which any two add up to what lib/rounding_shift.glsl can make a float and back.
$include "lib/rounding_shift.glsl"

const int kShortReach = 1 << 21;

// No abs(): that of the least integer is negative.
bool is_in_short_reach(int x) { return -kShortReach <= x && x <= kShortReach; }
bool is_in_short_reach(ivec4 x) { return clamp(x, -kShortReach, kShortReach) == x; }
