// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by numbers that the host knows, by a multiplication and a shift: for a divisor d it sends m = ceil(2^(31 +
// s) / d) and s = ceil(log2 d). Then floor(n / d) = floor(n * m / 2^(31 + s)) for every n below 2^31: m exceeds 2^(31 +
// s) / d by less than 1, which adds less than n / 2^(31 + s) < 1 / d to the exact quotient.
//
// The part `dividers` is for several numbers in an array.
$gives uint quotient(uint n, uint multiplier, uint shift)

uint quotient(uint n, uint multiplier, uint shift) {
  uint high, low;
  umulExtended(n << 1, multiplier, high, low);
  return high >> shift;
}

uvec4 quotient(uvec4 n, uint multiplier, uint shift) {
  uvec4 high, low;
  umulExtended(n << 1, uvec4(multiplier), high, low);
  return high >> shift;
}

$part dividers
// Division by numbers that the host passes in an array, each as divisor, multiplier and shift.
$include "lib/quotient.glsl"
$gives uvec2 divided(uint n, uint i)

// Quotient and remainder of n by the i-th of problem.dividers.
uvec2 divided(uint n, uint i) {
  const uint whole = quotient(n, problem.dividers[3u * i + 1u], problem.dividers[3u * i + 2u]);
  return uvec2(whole, n - whole * problem.dividers[3u * i]);
}
