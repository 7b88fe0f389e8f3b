// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fast and the exact path that all quantizers share, for four values with the parameters in a struct Block. A
// quantizer that includes this file has defined scaled(), quantize() of one value, and next_lane().
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
