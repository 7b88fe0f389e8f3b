// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes four floats as lib/affine.glsl does, bit for bit, with fewer instructions where values and block allow it:
//
//   adding 1.5 * 2^23 to a float of magnitude up to 2^22 rounds it half to even, and leaves the integer in the low bits
//
// and leaves any other float beyond those. So a product that is no NaN is shifted, clamped to the remaining bounds of
// t, and its bits are the integer. That takes 5 instructions an element; the exact path takes 25, and would keep a GPU
// busier than its memory does. It serves blocks
//
//   with zero point and bounds that fit      2^21 each, so that t's bounds are within 2^22
//   whose scale lets no subnormal x count    1 / scale up to 2^125, so that x below 2^-126 (f16: 2^13 and 2^-14) comes
//                                            to less than a half, whether the device flushes it or not
$include "lib/affine.glsl"
$include "lib/float32.glsl" rounding_shift
$gives struct Block
$gives Block make_block(float scale, int zero_point)
$gives int quantize(float x, Block block)
$gives vec4 scaled(vec4 x, Block block)
$gives Block next_lane(Block block)

$if is_float(input_dtype) and bytes(input_dtype) == 2
const uint kShortReciprocal = 0x46000000u;  // 2^13
$else
const uint kShortReciprocal = 0x7e000000u;  // 2^125
$end

// The parameters of four elements' blocks. Usually all four are in one block.
struct Block {
  vec4 inverse_scale;
  ivec4 zero_point;
  bool is_short;
};

// All conditions are computed: && would branch.
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

// The exact path for one value, the first of four lanes.
int quantize(float x, Block block) {
  return quantize(x, block.inverse_scale.x, block.zero_point.x, problem.quant_min, problem.quant_max);
}

Block next_lane(Block block) {
  return Block(block.inverse_scale.yzwx, block.zero_point.yzwx, block.is_short);
}

$include "lib/quantized_lanes.glsl"
