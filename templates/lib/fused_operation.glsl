// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The operation on floats that problem.operation selects: docs/fused.md is the definition. Each step is rounded once,
// and a subnormal result counts as zero.
//
// Hardswish's product is never near 2^-126: for small x it is three times x, and the other factor is 0 or at least an
// ulp of 3.
$include "lib/float32.glsl"
$include "lib/exponential.glsl"
$gives float operate(float x)

float relu(float x) { return is_nan(x) || x > 0.0 ? x : 0.0; }

float hardswish(float x) {
  precise const float shifted = x + 3.0;
  precise const float product = x * (is_nan(shifted) ? shifted : clamp(shifted, 0.0, 6.0));
  return divide_by_six(product);
}

float sigmoid(float x) {
  precise const float sum = 1.0 + exponential(clamp(-x, -87.0, 88.0));
  return is_nan(x) ? x : reciprocal(sum);
}

float clip(float x) { return is_nan(x) ? x : x < problem.low ? problem.low : x > problem.high ? problem.high : x; }

float operate(float x) {
  return problem.operation == kFusedOperationRelu        ? relu(x)
         : problem.operation == kFusedOperationHardswish ? hardswish(x)
         : problem.operation == kFusedOperationSigmoid   ? sigmoid(x)
         : problem.operation == kFusedOperationClip      ? clip(x)
                                                         : x;
}

vec4 operate(vec4 x) { return vec4(operate(x.x), operate(x.y), operate(x.z), operate(x.w)); }
