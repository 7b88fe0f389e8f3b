// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Four integers of one block -> reals, in a short way wherever it gives the bits of lib/affine.glsl: integers of 8 and
// 16 bits less a zero point of up to 2^21 are exact floats, made by writing them into the low bits of 1.5 * 2^23.
//
// Halves are rounded by an addition to their bits and are then exact for the device's own conversion, whose rounding is
// anyone's. That serves blocks none of whose products is subnormal or too large as a half.
$include "lib/affine.glsl"
$include "lib/short_reach.glsl"

struct Block {
  float scale;
  int zero_point;
  bool is_short;
};

bool has_short_way(float scale, int zero_point) {
$if input_dtype == i32
  return false;
$elif output_dtype == f16
  const float most = float(1 << (8 * ${bytes(input_dtype)})) + abs(float(zero_point));
  return is_in_short_reach(zero_point) && abs(scale) >= 0.00006103515625 && abs(scale) * most < 65504.0;
$else
  return is_in_short_reach(zero_point);
$end
}

Block make_block(float scale, int zero_point) {
  return Block(flush_subnormal(scale), zero_point, has_short_way(scale, zero_point));
}

float dequantize(int q, Block block) { return dequantize(q, block.scale, block.zero_point); }

vec4 dequantize(ivec4 q, Block block) {
  if (block.is_short) {
    precise const vec4 difference = intBitsToFloat(q + (kRoundingShiftBits - block.zero_point)) - kRoundingShift;
    precise const vec4 real = difference * block.scale;
    return real;
  }
  vec4 x;
  for (uint lane = 0u; lane < 4u; ++lane) x[lane] = dequantize(q[lane], block);
  return x;
}

$if output_dtype == f16
// The float nearest to x that is a half, half to even, where that is a normal one or zero.
uvec4 rounded_to_half(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  return (bits + 0x0fffu + ((bits >> 13) & 1u)) & ~0x1fffu;
}

uvec2 pack_real(vec4 x, Block block) {
  if (!block.is_short) return pack_f16(x);
  const vec4 half_x = uintBitsToFloat(rounded_to_half(x));
  return uvec2(packHalf2x16(half_x.xy), packHalf2x16(half_x.zw));
}
$else
uvec4 pack_real(vec4 x, Block block) { return pack_f32(x); }
$end
