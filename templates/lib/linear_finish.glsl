// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What becomes of an output's sum: the bias of its column is added, and the activation applied. NaN stays NaN.
$include "lib/float32.glsl"

float finished(float sum, uint n) {
  const uint kNone = 0u;
  const uint kRelu6 = 2u;
  const uint kHardswish = 3u;
  if (problem.has_bias != 0u) sum += bias_data[n];
  if (problem.activation == kNone || is_nan(sum)) return sum;
  // A sixth of at most six, first: so that nothing overflows.
  if (problem.activation == kHardswish) return sum * (clamp(sum + 3.0, 0.0, 6.0) * (1.0 / 6.0));
  const float positive = max(sum, 0.0);
  return problem.activation == kRelu6 ? min(positive, 6.0) : positive;
}
