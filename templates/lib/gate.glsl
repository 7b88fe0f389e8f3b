// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// x * sigmoid(x) * y in f32, the gate of a gated layer: docs/pointwise.md. Every device gives the same bits.
$include "lib/float32.glsl"
$include "lib/exponential.glsl"
$gives float gated(float x, float y)

// exponential() has no results below -87. There, sigmoid(x) is x's exponential, which counts as 0.
float gated(float x, float y) {
  if (is_nan(x) || is_nan(y)) return uintBitsToFloat(kNan);
  precise const float sum = exponential(clamp(-x, -87.0, 88.0)) + 1.0;
  const float sigmoid = x < -87.0 ? 0.0 : divide(1.0, sum);
  precise const float silu = x * sigmoid;
  precise const float product = silu * y;
  return product;
}
