// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// exp(x) for x from -87 to 88, by sums and products that are each rounded once, so that every device gives the same
// bits: docs/fused.md has the steps. It is within 2^-23.5 of the exact result, in relation to it: all x were tried.
//
// x = k * ln 2 + r, with ln 2 in two parts. The first has 10 bits, so that its product with k is exact. Then exp(r) by
// a polynomial (Cephes' expf), times 2^k. The only subnormal value on the path may be r * r, which is then added to r
// or 1.
//
// The softmax weights of attention, and of its slices, are at the end.
$include "lib/float32.glsl" rounding_shift
$gives float exponential(float x)
$gives float short_exponential(float x)
$gives float minus_infinity()
$gives bool is_minus_infinity(float x)
$gives float weight_of(float x)

float exponential(float x) {
  precise const float product = x * 1.44269502162933349609375;
  precise const float shifted = product + kRoundingShift;  // k in its low bits
  precise const float k = shifted - kRoundingShift;
  precise const float high = x - k * 0.693359375;
  precise const float r = high - k * -2.12194440e-4;
  precise float p = 1.9875691500e-4;
  p = p * r + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  precise const float series = (p * (r * r) + r) + 1.0;
  return series * uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
}

// The same with fused multiply-adds in its polynomial, for x from -87 to 0: 17 instructions instead of 23. A
// device may round such an operation once or twice, so devices differ in the last bit. In both cases the result is
// within 2^-23.5 of the exact one, in relation to it: all x below -2^-29 were tried. The steps before the polynomial
// are no fma(): Mesa joins the constants of two in a row, and the result is then less exact.
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

// ---- the softmax weights of attention (docs/attention.md) -----------------------------------------------------------

float minus_infinity() { return uintBitsToFloat(0xff800000u); }

bool is_minus_infinity(float x) { return floatBitsToUint(x) == 0xff800000u; }

// exp(x) for x up to 0; less than -87 counts as 0, and NaN stays.
float weight_of(float x) { return x < -87.0 ? 0.0 : exponential(x); }
