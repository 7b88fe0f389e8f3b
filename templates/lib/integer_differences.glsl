// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Differences of integers as floats.
$include "lib/rounding_shift.glsl"
$gives vec4 exact_difference(ivec4 a, ivec4 b)
$gives vec4 short_difference(ivec4 a, ivec4 b)

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
