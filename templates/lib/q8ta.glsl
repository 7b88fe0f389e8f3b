// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Four bytes at a time between i8 and reals, one scale and zero point for all: the bits of lib/affine.glsl with less work,
// because the host has refused what makes that work necessary (runtime/operators/per_tensor.h).
//
//   zero points are i8          so sums of integers need no saturation, and are exact as f32
//   2^-125 <= scale             so a product of a subnormal with 1 / scale is below a half: it rounds to 0, kept or flushed
//   scale <= 2^119              so 255 quanta are finite, and 1 / scale is normal

vec4 dequantized(ivec4 q, float scale, int zero_point) {
  precise const vec4 x = vec4(q - zero_point) * scale;
  return x;
}

// x is no NaN. The clamp stands before the rounding: its bounds are integers, so that is the same, and infinities are gone.
ivec4 quantized(vec4 x, float inverse_scale, int zero_point) {
  precise const vec4 scaled = x * inverse_scale;
  const vec4 inside = clamp(scaled, float(-128 - zero_point), float(127 - zero_point));
  return ivec4(roundEven(inside)) + zero_point;
}

// NaN becomes the zero point.
ivec4 quantized_any(vec4 x, float inverse_scale, int zero_point) {
  const bvec4 is_nan = greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
  return quantized(mix(x, vec4(0.0), is_nan), inverse_scale, zero_point);
}
