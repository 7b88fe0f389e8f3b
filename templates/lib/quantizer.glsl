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
//
// The part `quotient` replaces this where values are divided by the scale. `lanes` is what both share.
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

$include "lib/quantizer.glsl" lanes

$part quotient
// Quantizes four floats in the same way, but by the quotient RN(x / scale), as ONNX rounds.
//
// The product with RN(1 / scale) is within 3 * 2^-24 of RN(x / scale), relative to either. So the two round to
// different integers only where the product is within 2^-22 of itself of a half between two integers. Such a product
// becomes NaN, which sends its word to the exact path, where the division is exact.
$include "lib/affine.glsl"
$include "lib/float32.glsl" rounding_shift
$gives int quantize(float x, Block block)
$gives struct Block
$gives Block make_block(float scale, int zero_point)
$gives vec4 scaled(vec4 x, Block block)
$gives Block next_lane(Block block)

$if bytes(input_dtype) == 2
const uint kShortReciprocal = 0x46000000u;  // 2^13
$else
const uint kShortReciprocal = 0x7e000000u;  // 2^125
$end

// The parameters of four elements' blocks. Usually all four are in one block.
struct Block {
  vec4 scale;
  vec4 inverse_scale;
  ivec4 zero_point;
  bool is_short;
};

// A reciprocal that is zero has lost its scale. All conditions are computed: && would branch.
Block block_of(vec4 scale, vec4 inverse_scale, ivec4 zero_point) {
  const uvec4 magnitude = floatBitsToUint(inverse_scale) & kMagnitude;
  const bvec4 are_short = lessThanEqual(magnitude - 1u, uvec4(kShortReciprocal - 1u));
  const bool is_short = all(bvec4(all(are_short), is_in_short_reach(zero_point), is_in_short_reach(problem.quant_min),
                                  is_in_short_reach(problem.quant_max)));
  return Block(scale, inverse_scale, zero_point, is_short);
}

Block make_block(float scale, int zero_point) {
  return block_of(vec4(scale), vec4(quantizer(scale)), ivec4(zero_point));
}

Block make_block(vec4 scale, ivec4 zero_point) {
  return block_of(scale, vec4(quantizer(scale.x), quantizer(scale.y), quantizer(scale.z), quantizer(scale.w)),
                  zero_point);
}

$include "lib/quantizer.glsl" near_tie

vec4 scaled(vec4 x, Block block) {
  precise const vec4 product = x * block.inverse_scale;
  return mix(product, uintBitsToFloat(uvec4(kNan)), is_near_tie(product));
}

// The exact path for one value, the first of four lanes.
int quantize(float x, Block block) {
  const int t = round_to_int(divide(x, block.scale.x));
  return clamp(saturating_add(t, block.zero_point.x), problem.quant_min, problem.quant_max);
}

Block next_lane(Block block) {
  return Block(block.scale.yzwx, block.inverse_scale.yzwx, block.zero_point.yzwx, block.is_short);
}

$include "lib/quantizer.glsl" lanes

$part lanes
// The fast and the exact path that all quantizers share, for four values with the parameters in a struct Block. A
// quantizer that includes this part has defined scaled(), quantize() of one value, and next_lane().
$include "lib/float32.glsl"
$needs struct Block
$needs Block next_lane(Block block)
$needs vec4 scaled(vec4 x, Block block)
$gives ivec4 quantize(vec4 x, Block block)
$gives float nan_of(vec4 x)
$gives ivec4 rounded(vec4 product, Block block)

// NaN if one of four is; infinities of both signs together also count as one.
float nan_of(vec4 x) {
  precise const float sum = (x.x + x.y) + (x.z + x.w);
  return sum;
}

// The fast path, of products.
ivec4 rounded(vec4 product, Block block) {
  const ivec4 shift = kRoundingShiftBits - block.zero_point;
  precise const vec4 shifted = product + kRoundingShift;
  const vec4 lowest = intBitsToFloat(problem.quant_min + shift);
  const vec4 highest = intBitsToFloat(problem.quant_max + shift);
  return floatBitsToInt(clamp(shifted, lowest, highest)) - shift;
}

ivec4 quantize_the_long_way(vec4 x, Block block) {
  ivec4 q = ivec4(0);
  [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {  // each in turn the first, so that this stands once
    q = ivec4(q.yzw, quantize(x.x, block));
    x = x.yzwx;
    block = next_lane(block);
  }
  return q;
}

ivec4 quantize(vec4 x, Block block) {
  const vec4 product = scaled(x, block);
  if (block.is_short && !is_nan(nan_of(product))) return rounded(product, block);
  return quantize_the_long_way(x, block);
}

$part near_tie
// Whether the product x * (1 / scale) is so near to a tie that the quotient x / scale may round to another integer.
// Near means within 2^-22 of the product. The differences are exact up to 2^22; all larger products count as near.
$include "lib/float32.glsl" rounding_shift
$gives bvec4 is_near_tie(vec4 product)

bvec4 is_near_tie(vec4 product) {
  precise const vec4 nearest = (product + kRoundingShift) - kRoundingShift;
  precise const vec4 gap = 0.5 - abs(product - nearest);
  precise const vec4 doubt = abs(product) * 2.384185791015625e-07;
  return lessThanEqual(gap, doubt);
}
