// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The activation of a layer, problem.activation.
$include "lib/float32.glsl"
$gives float activate(float y)

float activate(float y) {
  if (problem.activation == kActivationNone || is_nan(y)) return y;
  if (problem.activation == kActivationRelu) return max(y, 0.0);
  if (problem.activation == kActivationRelu6) return clamp(y, 0.0, 6.0);
  precise const float shifted = y + 3.0;
  precise const float product = y * clamp(shifted, 0.0, 6.0);
  return divide_by_six(product);
}
