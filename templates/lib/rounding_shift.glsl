// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Conversion between floats and small integers by adding 1.5 * 2^23. A float of magnitude up to 2^22 is rounded half to
// even, and the integer is in the low bits of the sum. This takes one addition; rounding and converting are two slower
// instructions. The bits of such a sum also turn small integers into floats: this makes differences of integers floats.
$gives const float kRoundingShift
$gives const int kRoundingShiftBits
$gives bool is_in_short_reach(int x)
$gives vec4 exact_difference(ivec4 a, ivec4 b)
$gives vec4 short_difference(ivec4 a, ivec4 b)

const float kRoundingShift = 12582912.0;
const int kRoundingShiftBits = 0x4b400000;

// Whether an integer is so small that the shift can convert the sum of two such integers.
const int kShortReach = 1 << 21;

// No abs(): it would be negative for the least integer.
bool is_in_short_reach(int x) { return -kShortReach <= x && x <= kShortReach; }
bool is_in_short_reach(ivec4 x) { return clamp(x, -kShortReach, kShortReach) == x; }

// a - b rounded once, although it may not fit an int. The differences of the halves become floats by their bits. The
// low ones still contain the shift, which was removed from the high ones in advance: only the last sum rounds.
vec4 exact_difference(ivec4 a, ivec4 b) {
  const vec4 high = intBitsToFloat((a >> 16) - (b >> 16) + kRoundingShiftBits);
  const vec4 low = intBitsToFloat((a & 0xffff) - (b & 0xffff) + kRoundingShiftBits);
  precise const vec4 difference = (high * 65536.0 - kRoundingShift * 65537.0) + low;
  return difference;
}

// The same of a difference that fits an int.
vec4 short_difference(ivec4 a, ivec4 b) {
  const ivec4 difference = a - b;
  const vec4 high = intBitsToFloat((difference >> 12) + kRoundingShiftBits);
  const vec4 low = intBitsToFloat((difference & 0xfff) | kRoundingShiftBits);
  precise const vec4 real = fma(high, vec4(4096.0), vec4(-kRoundingShift * 4097.0)) + low;  // fused or not: exact
  return real;
}
