// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes a row of an int8 cache (docs/movement.md). The invocations of a workgroup share the row.
//
//   scale = RN(the greatest magnitude / 127); NaN if the row has a NaN or an infinity
//   code  = clamp(round_half_even(x * RN(1 / scale)), -127, 127); 0 if the scale is 0 or NaN
$include "lib/float16.glsl"
$include "lib/affine.glsl"
$gives float row_scale(uint magnitude)
$gives float inverse_of(float scale)
$gives uint code_of(float x, float inverse_scale)
$gives float real_of(uint bits)

shared uint greatest_magnitude;

// `magnitude`: the bits of the greatest one that this invocation has. All invocations call this, once.
float row_scale(uint magnitude) {
  if (gl_LocalInvocationIndex == 0u) greatest_magnitude = 0u;
  barrier();
  atomicMax(greatest_magnitude, magnitude);
  barrier();
  if (greatest_magnitude >= kInfinity) return uintBitsToFloat(kNan);
  return divide(uintBitsToFloat(greatest_magnitude), 127.0);
}

float inverse_of(float scale) { return floatBitsToUint(scale) == 0u ? 0.0 : quantizer(scale); }

// As a byte.
uint code_of(float x, float inverse_scale) { return uint(quantize(x, inverse_scale, 0, -127, 127)) & 0xffu; }

// An element of the new rows.
$if dtype == f16
float real_of(uint bits) { return f16_to_f32(bits); }
$else
float real_of(uint bits) { return uintBitsToFloat(bits); }
$end
