// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by numbers that the host knows, without dividing: it sends the divisor d, m = ceil(2^(31 + s) / d) and
// s = ceil(log2 d). Then floor(n / d) = floor(n * m / 2^(31 + s)) for every n below 2^31: m exceeds 2^(31 + s) / d by
// less than 1, which adds less than n / 2^(31 + s) < 1 / d to the exact quotient.

// Quotient and remainder of n by the i-th of problem.dividers.
uvec2 divided(uint n, uint i) {
  uint quotient, low;
  umulExtended(n << 1, problem.dividers[3u * i + 1u], quotient, low);
  quotient >>= problem.dividers[3u * i + 2u];
  return uvec2(quotient, n - quotient * problem.dividers[3u * i]);
}
