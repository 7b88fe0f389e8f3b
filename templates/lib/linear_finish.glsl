// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What becomes of an output's sum: the bias of its column is added, and the activation applied. NaN stays NaN.
$include "lib/float32.glsl"

float finished(float sum, uint n) {
  if (problem.has_bias != 0u) sum += bias_data[n];
  if (problem.activation == kActivationNone || is_nan(sum)) return sum;
  // A sixth of at most six, first: so that nothing overflows.
  if (problem.activation == kActivationHardswish) return sum * (clamp(sum + 3.0, 0.0, 6.0) * (1.0 / 6.0));
  const float positive = max(sum, 0.0);
  return problem.activation == kActivationRelu6 ? min(positive, 6.0) : positive;
}
