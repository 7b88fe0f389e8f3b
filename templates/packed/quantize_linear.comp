// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point values to int8 in any layout, per tensor, with the quotient by the scale. A product replaces
// the quotient, except near a tie (lib/quantizer.glsl).
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare_problem()}
${declare(input)}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" store
$include "lib/q8ta.glsl"
$include "lib/quantizer.glsl" near_tie
$include "lib/float32.glsl"

// Clamped, so that nothing beyond the integers is near a half. NaN counts as 0.
uint quantized(vec4 x) {
  const float low = float(-128 - problem.zero_point), high = float(127 - problem.zero_point);
  x = mix(x, vec4(0.0), greaterThan(floatBitsToUint(x) & kMagnitude, uvec4(kInfinity)));
  precise vec4 quotient = clamp(x * problem.inverse_scale, low, high);
  if (any(is_near_tie(quotient))) {
    [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {  // each in turn the first, so that this stands once
      quotient = vec4(quotient.yzw, clamp(divide(x.x, problem.scale), low, high));
      x = x.yzwx;
    }
  }
  precise const vec4 shifted = quotient + kRoundingShift;
  return packed_integers(shifted, problem.zero_point);
}

$include "lib/packed_quantize.glsl"
