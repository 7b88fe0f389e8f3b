// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// f16 as its bits, in the low half of a uint. Done in integers, because devices differ in whether a conversion keeps
// subnormal halves, and Vulkan leaves the rounding of f32 -> f16 open.
$gives float f16_to_f32(uint half_bits)
$gives uint f32_to_f16(float x)

// Exact.
float f16_to_f32(uint half_bits) {
  const uint sign = (half_bits & 0x8000u) << 16;
  const uint magnitude = (half_bits & 0x7fffu) << 13;
  // A subnormal m * 2^-24 is (1 + m / 1024) * 2^-14 - 2^-14; infinity and NaN take f32's exponent.
  const bool is_subnormal = magnitude < 0x00800000u;
  const uint bias = is_subnormal ? 0x38800000u : magnitude >= 0x0f800000u ? 0x70000000u : 0x38000000u;
  const float shifted = uintBitsToFloat(magnitude + bias);
  precise const float value = is_subnormal ? shifted - 0.00006103515625 : shifted;
  return uintBitsToFloat(floatBitsToUint(value) | sign);
}

// Rounded half to even; 65520 and more become infinity. All three cases are computed: a branch for each would cost
// more.
uint f32_to_f16(float x) {
  const uint sign = (floatBitsToUint(x) >> 16) & 0x8000u;
  const uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
  const uint rounded = (magnitude + 0x0fffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Below 2^-14: the sum with a half is rounded to a multiple of 2^-24, and counts them in its low bits.
  precise const float shifted = uintBitsToFloat(magnitude) + 0.5;
  const uint subnormal = floatBitsToUint(shifted) - 0x3f000000u;
  const uint special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint finite = magnitude < 0x38800000u ? subnormal : rounded;
  return sign | (magnitude < 0x477ff000u ? finite : special);
}
