// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes and dequantizes four i8 values at a time, with one scale and zero point for all. The result is bit-exact
// with lib/affine.glsl. It needs less work, because the host refuses the special cases
// (runtime/engine/operators/per_tensor.h).
//
//   zero points are i8          so sums of integers need no saturation, and are exact as f32
//   2^-125 <= scale             so the product of a subnormal with 1 / scale is below a half: it is 0, kept or flushed
//   scale <= 2^119              so 255 quanta are finite, and 1 / scale is normal
$include "lib/float32.glsl" rounding_shift
$gives vec4 dequantized(uint word, float scale, int zero_point)
$gives uint quantized(vec4 x, float inverse_scale, int zero_point)
$gives uint packed_integers(vec4 shifted, int zero_point)
$gives uint quantized_between(vec4 x, float inverse_scale, int zero_point, float low, float high)

// The bytes of a word become floats by their bits. With the sign bit flipped a byte is q + 128. It is put into the low
// bits of a float, or eight bits higher, where it counts 256 times as much. All of it is exact up to the one product.
vec4 dequantized(uint word, float scale, int zero_point) {
  const uint high = word >> 16;
  const uvec4 bytes = uvec4(word & 0xffu, word & 0xff00u, high & 0xffu, high & 0xff00u);
  const uvec4 bits = bytes ^ (uvec4(kRoundingShiftBits) | uvec4(0x80u, 0x8000u, 0x80u, 0x8000u));
  const vec4 weights = vec4(1.0, 0.00390625, 1.0, 0.00390625);
  const vec4 bias = kRoundingShift * weights + float(128 + zero_point);
  const vec4 difference = uintBitsToFloat(bits) * weights - bias;
  precise const vec4 x = difference * scale;
  return x;
}

// Rounded integers less their zero point, and plus kRoundingShift, as four bytes. They become q + 128, which is never
// negative, so that two of them are packed by a sum of floats.
uint packed_integers(vec4 shifted, int zero_point) {
  const float kIntegers = 8388608.0;  // 2^23: a float from there on has an integer in its low bits
  const float offset = kRoundingShift - float(128 + zero_point);
  const vec2 pairs = (shifted.xz - (offset - kIntegers)) + 256.0 * (shifted.yw - offset);
  const uvec2 bits = floatBitsToUint(pairs);
  return (bits.x ^ floatBitsToUint(kIntegers)) ^ bits.y << 16 ^ 0x80808080u;
}

// x is no NaN; `low` and `high` are the bounds of the result, less the zero point. Clamping integers' bounds before
// rounding is the same as after, and leaves nothing infinite.
uint quantized_between(vec4 x, float inverse_scale, int zero_point, float low, float high) {
  precise const vec4 scaled = x * inverse_scale;
  precise const vec4 shifted = clamp(scaled, low, high) + kRoundingShift;
  return packed_integers(shifted, zero_point);
}

// NaN becomes the zero point. A sum is NaN if one of its terms is; where it is so for another reason, nothing changes.
uint quantized(vec4 x, float inverse_scale, int zero_point) {
  precise const float sum = (x.x + x.y) + (x.z + x.w);
  if ((floatBitsToUint(sum) & 0x7fffffffu) > 0x7f800000u) {
    x = mix(x, vec4(0.0), greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)));
  }
  return quantized_between(x, inverse_scale, zero_point, float(-128 - zero_point), float(127 - zero_point));
}
