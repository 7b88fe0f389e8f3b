// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dequantizes four integers, with fewer instructions if the result is bit-exact with lib/affine.glsl. Integers of 8 and
// 16 bits minus a zero point of up to 2^21 are exact floats, made by writing them into the low bits of 1.5 * 2^23.
//
// Halves are rounded by an addition to their bits and are then exact for the device's own conversion, whose rounding is
// anyone's. That is right for blocks in which no product is subnormal or too large for f16.
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/short_reach.glsl"
$gives struct Block
$gives Block make_block(vec4 scale, ivec4 zero_point)
$gives float dequantize(int q, Block block)
$gives vec4 dequantize_the_short_way(ivec4 q, Block block)
$gives pack_short

// The parameters of four elements' blocks. Usually all four are in one block.
struct Block {
  vec4 scale;
  ivec4 zero_point;
  bool is_short;
};

bool has_short_way(vec4 scale, ivec4 zero_point) {
$if input_dtype == i32
  return false;
$elif output_dtype == f16
  const vec4 most = float(1 << (8 * ${bytes(input_dtype)})) + abs(vec4(zero_point));
  return all(bvec3(is_in_short_reach(zero_point), all(greaterThanEqual(abs(scale), vec4(0.00006103515625))),
                   all(lessThan(abs(scale) * most, vec4(65504.0)))));
$else
  return is_in_short_reach(zero_point);
$end
}

Block make_block(vec4 scale, ivec4 zero_point) {
  return Block(flush_subnormal(scale), zero_point, has_short_way(scale, zero_point));
}

Block make_block(float scale, int zero_point) { return make_block(vec4(scale), ivec4(zero_point)); }

vec4 dequantize_the_short_way(ivec4 q, Block block) {
  precise const vec4 difference = intBitsToFloat(q + (kRoundingShiftBits - block.zero_point)) - kRoundingShift;
  precise const vec4 real = difference * block.scale;
  return real;
}

// The exact path for one value, the first of four lanes.
float dequantize(int q, Block block) { return dequantize(q, block.scale.x, block.zero_point.x); }

vec4 dequantize_the_long_way(ivec4 q, Block block) {
  vec4 x = vec4(0.0);
  [[dont_unroll]] for (uint lane = 0u; lane < 4u; ++lane) {  // each in turn the first, so that this stands once
    x = vec4(x.yzw, dequantize(q.x, block));
    q = q.yzwx;
    block.scale = block.scale.yzwx;
    block.zero_point = block.zero_point.yzwx;
  }
  return x;
}

$if output_dtype == f16
// The float nearest to x that is a half, half to even, where that is a normal one or zero.
uvec4 rounded_to_half(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  return (bits + 0x0fffu + ((bits >> 13) & 1u)) & ~0x1fffu;
}

// The results of the fast path.
uvec2 pack_short(vec4 x) {
  const vec4 half_x = uintBitsToFloat(rounded_to_half(x));
  return uvec2(packHalf2x16(half_x.xy), packHalf2x16(half_x.zw));
}
$else
uvec4 pack_short(vec4 x) { return pack_f32(x); }
$end
