// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes four floats as lib/quantizer.glsl does, but by the quotient RN(x / scale), as ONNX rounds.
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

$include "lib/near_tie.glsl"

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

$include "lib/quantized_lanes.glsl"
