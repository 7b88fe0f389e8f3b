// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// 8-bit operands with one scale and zero point each, if no special value can occur: no NaN, no subnormal, nothing out
// of reach of lib/rounding_shift.glsl. The condition is the same for all invocations and is checked once, so that the
// rest has no branches.
//
// If all scales, and the factors of floats, have magnitudes of 2^-40 to 2^40, a dequantized value is 0 or of 2^-40 to
// 2^62: a difference of integers, up to 2^22, times its scale. A product of two is then 0 or of 2^-80 to 2^124. A sum
// of two, one of which was multiplied again, is 0 or of 2^-103 to 2^103: the place of the lowest bit of 2^-80.
$include "lib/fused_source.glsl"
$gives bool is_tame(float factor)

bool is_tame(float factor) {
  const uint kLeast = 0x2b800000u;  // 2^-40
  const uint kMost = 0x53800000u;   // 2^40
  return (floatBitsToUint(factor) & kMagnitude) - kLeast <= kMost - kLeast;
}

bool is_tame(Source source) { return is_tame(source.scale) && is_in_short_reach(source.zero_point); }
