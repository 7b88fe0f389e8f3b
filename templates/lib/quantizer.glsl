// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Four reals of one block -> integers, in a short way wherever it gives the bits of lib/affine.glsl:
//
//   adding 1.5 * 2^23 to a float of magnitude up to 2^22 rounds it half to even, and leaves the integer in the low bits
//
// so a product that is no NaN is clamped to what the bounds leave of t, and shifted: 5 instructions an element, where
// the general way takes 25 and would keep a GPU busier than its memory does. It serves blocks
//
//   with zero point and bounds that fit      2^21 each, so that t's bounds are within 2^22
//   whose scale lets no subnormal x count    1 / scale up to 2^125, so that x below 2^-126 (f16: 2^13 and 2^-14) comes
//                                            to less than a half, whether the device flushes it or not
$include "lib/affine.glsl"
$include "lib/short_reach.glsl"

$if input_dtype == f16
const uint kShortReciprocal = 0x46000000u;  // 2^13
$else
const uint kShortReciprocal = 0x7e000000u;  // 2^125
$end

struct Block {
  float inverse_scale;
  int zero_point;
  bool is_short;
  float lowest;  // of t, in the short way
  float highest;
};

Block make_block(float scale, int zero_point) {
  Block block;
  block.inverse_scale = quantizer(scale);
  block.zero_point = zero_point;
  block.is_short = (floatBitsToUint(block.inverse_scale) & kMagnitude) <= kShortReciprocal &&
                   is_in_short_reach(zero_point) && is_in_short_reach(problem.quant_min) &&
                   is_in_short_reach(problem.quant_max);
  block.lowest = float(problem.quant_min - zero_point);
  block.highest = float(problem.quant_max - zero_point);
  return block;
}

int quantize(float x, Block block) {
  return quantize(x, block.inverse_scale, block.zero_point, problem.quant_min, problem.quant_max);
}

// A sum is NaN if one of its terms is; if it is so for another reason (infinities of both signs), the long way serves
// too.
ivec4 quantize(vec4 x, Block block) {
  precise const vec4 scaled = x * block.inverse_scale;
  precise const float sum = (scaled.x + scaled.y) + (scaled.z + scaled.w);
  if (block.is_short && !is_nan(sum)) {
    precise const vec4 shifted = clamp(scaled, block.lowest, block.highest) + kRoundingShift;
    return floatBitsToInt(shifted) + (block.zero_point - kRoundingShiftBits);
  }
  ivec4 q;
  for (uint lane = 0u; lane < 4u; ++lane) q[lane] = quantize(x[lane], block);
  return q;
}
