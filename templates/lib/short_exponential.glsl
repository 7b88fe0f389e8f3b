// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// lib/exponential.glsl with fused multiply-adds in its polynomial, for x from -87 to 0: 17 instructions instead of 23.
// A device may round such an operation once or twice, so devices differ in the last bit. In both cases the result is
// within 2^-23.5 of the exact one, in relation to it: all x below -2^-29 were tried. The steps before the polynomial
// are no fma(): Mesa joins the constants of two in a row, and the result is then less exact.
$include "lib/rounding_shift.glsl"
$gives float short_exponential(float x)

float short_exponential(float x) {
  precise const float product = x * 1.44269502162933349609375;
  precise const float shifted = product + kRoundingShift;  // k in its low bits
  precise const float k = shifted - kRoundingShift;
  precise const float high = x - k * 0.693359375;
  precise const float r = high - k * -2.12194440e-4;
  precise float p = 1.9875691500e-4;
  p = fma(p, r, 1.3981999507e-3);
  p = fma(p, r, 8.3334519073e-3);
  p = fma(p, r, 4.1665795894e-2);
  p = fma(p, r, 1.6666665459e-1);
  p = fma(p, r, 5.0000001201e-1);
  precise const float series = fma(p, r * r, r) + 1.0;
  return series * uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
}
