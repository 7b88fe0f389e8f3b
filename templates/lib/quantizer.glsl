// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Four reals -> integers, in a short way wherever it gives the bits of lib/affine.glsl:
//
//   adding 1.5 * 2^23 to a float of magnitude up to 2^22 rounds it half to even, and leaves the integer in the low bits
//
// and leaves any other float beyond those, so a product that is no NaN is shifted, clamped to what the bounds leave of
// t, and its bits are the integer: 5 instructions an element, where the long way takes 25 and would keep a GPU busier
// than its memory does. It serves blocks
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

// What the blocks of four elements come down to; of one block as a rule.
struct Block {
  vec4 inverse_scale;
  ivec4 zero_point;
  bool is_short;
};

// All is asked at once: && would branch.
Block block_of(vec4 inverse_scale, ivec4 zero_point) {
  const bvec4 are_short = lessThanEqual(floatBitsToUint(inverse_scale) & kMagnitude, uvec4(kShortReciprocal));
  const bool is_short = all(bvec4(all(are_short), is_in_short_reach(zero_point), is_in_short_reach(problem.quant_min),
                                  is_in_short_reach(problem.quant_max)));
  return Block(inverse_scale, zero_point, is_short);
}

Block make_block(float scale, int zero_point) { return block_of(vec4(quantizer(scale)), ivec4(zero_point)); }

Block make_block(vec4 scale, ivec4 zero_point) {
  return block_of(vec4(quantizer(scale.x), quantizer(scale.y), quantizer(scale.z), quantizer(scale.w)), zero_point);
}

vec4 scaled(vec4 x, Block block) {
  precise const vec4 product = x * block.inverse_scale;
  return product;
}

// NaN if one of four is; infinities of both signs are taken for one too.
float nan_of(vec4 x) {
  precise const float sum = (x.x + x.y) + (x.z + x.w);
  return sum;
}

// The short way, of products.
ivec4 rounded(vec4 product, Block block) {
  const ivec4 shift = kRoundingShiftBits - block.zero_point;
  precise const vec4 shifted = product + kRoundingShift;
  const vec4 lowest = intBitsToFloat(problem.quant_min + shift);
  const vec4 highest = intBitsToFloat(problem.quant_max + shift);
  return floatBitsToInt(clamp(shifted, lowest, highest)) - shift;
}

// The long way of one, the first of four lanes.
int quantize(float x, Block block) {
  return quantize(x, block.inverse_scale.x, block.zero_point.x, problem.quant_min, problem.quant_max);
}

ivec4 quantize_the_long_way(vec4 x, Block block) {
  ivec4 q = ivec4(0);
  [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {  // each in turn the first, so that this stands once
    q = ivec4(q.yzw, quantize(x.x, block));
    x = x.yzwx;
    block.inverse_scale = block.inverse_scale.yzwx;
    block.zero_point = block.zero_point.yzwx;
  }
  return q;
}

ivec4 quantize(vec4 x, Block block) {
  const vec4 product = scaled(x, block);
  if (block.is_short && !is_nan(nan_of(product))) return rounded(product, block);
  return quantize_the_long_way(x, block);
}
