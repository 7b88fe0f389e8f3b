// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by numbers that the host knows, by a multiplication and a shift: for a divisor d it sends m = ceil(2^(31 +
// s) / d) and s = ceil(log2 d). Then floor(n / d) = floor(n * m / 2^(31 + s)) for every n below 2^31: m exceeds 2^(31 +
// s) / d by less than 1, which adds less than n / 2^(31 + s) < 1 / d to the exact quotient.
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
