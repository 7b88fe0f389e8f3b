// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The floating-point epilogue of a sum: adds the bias of its column and applies the activation. NaN stays NaN.
$include "lib/float32.glsl"
$gives float finished(float sum, uint n)
$gives vec4 finished_row(vec4 sums, uint n)

float finished(float sum, uint n) {
  if (problem.has_bias != 0u) sum += bias_data[n];
  if (problem.activation == kActivationNone || is_nan(sum)) return sum;
  // A sixth of at most six, first: so that nothing overflows.
  if (problem.activation == kActivationHardswish) return sum * (clamp(sum + 3.0, 0.0, 6.0) * (1.0 / 6.0));
  const float positive = max(sum, 0.0);
  return problem.activation == kActivationRelu6 ? min(positive, 6.0) : positive;
}

// Of four columns from n on; those past the last become something that is dropped.
vec4 finished_row(vec4 sums, uint n) {
  const uvec4 columns = min(n + uvec4(0u, 1u, 2u, 3u), problem.n - 1u);
  return vec4(finished(sums.x, columns.x), finished(sums.y, columns.y), finished(sums.z, columns.z),
              finished(sums.w, columns.w));
}
