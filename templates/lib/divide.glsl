// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by numbers that the host passes in an array, each as divisor, multiplier and shift.
$include "lib/quotient.glsl"
$gives uvec2 divided(uint n, uint i)

// Quotient and remainder of n by the i-th of problem.dividers.
uvec2 divided(uint n, uint i) {
  const uint whole = quotient(n, problem.dividers[3u * i + 1u], problem.dividers[3u * i + 2u]);
  return uvec2(whole, n - whole * problem.dividers[3u * i]);
}
