// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Four bytes at a time between i8 and reals, one scale and zero point for all: the bits of lib/affine.glsl with less
// work, because the host has refused what makes that work necessary (runtime/operators/per_tensor.h).
//
//   zero points are i8          so sums of integers need no saturation, and are exact as f32
//   2^-125 <= scale             so the product of a subnormal with 1 / scale is below a half: it is 0, kept or flushed
//   scale <= 2^119              so 255 quanta are finite, and 1 / scale is normal
$include "lib/rounding_shift.glsl"

// The bytes of a word become floats by their bits: with the sign bits flipped they are q + 128, and stand in the low
// bits.
vec4 dequantized(uint word, float scale, int zero_point) {
  word ^= 0x80808080u;
  const uvec4 bytes = uvec4(word, word >> 8, word >> 16, word >> 24) & 0xffu;
  const float bias = kRoundingShift + float(128 + zero_point);
  precise const vec4 difference = uintBitsToFloat(bytes | uint(kRoundingShiftBits)) - bias;
  precise const vec4 x = difference * scale;
  return x;
}

// x is no NaN; `low` and `high` are the bounds of the result, less the zero point. Clamping integers' bounds before
// rounding is the same as after, and leaves nothing infinite.
uint quantized_between(vec4 x, float inverse_scale, int zero_point, float low, float high) {
  precise const vec4 scaled = x * inverse_scale;
  precise const vec4 shifted = clamp(scaled, low, high) + kRoundingShift;
  const uvec4 q = uvec4(floatBitsToInt(shifted) + zero_point) & 0xffu;
  return q.x | q.y << 8 | q.z << 16 | q.w << 24;
}

// NaN becomes the zero point. A sum is NaN if one of its terms is; where it is so for another reason, nothing changes.
uint quantized(vec4 x, float inverse_scale, int zero_point) {
  precise const float sum = (x.x + x.y) + (x.z + x.w);
  if ((floatBitsToUint(sum) & 0x7fffffffu) > 0x7f800000u) {
    x = mix(x, vec4(0.0), greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)));
  }
  return quantized_between(x, inverse_scale, zero_point, float(-128 - zero_point), float(127 - zero_point));
}
