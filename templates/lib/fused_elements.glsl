// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads and stores four elements of the operands of fused_binary and fused_unary, as floats. The part `kinds` is for
// modules in which dtypes are problem fields.

$part source
// Loads four elements of an operand as floats. Integers are dequantized as in lib/affine.glsl, with fewer instructions
// if the bits are the same: differences up to 2^22 are exact floats, made by `rounding_shift` of lib/float32.glsl.
$include "lib/affine.glsl"
$include "lib/float32.glsl" rounding_shift
$gives struct Source
$gives Source real_source()
$gives Source integer_source(float scale, int zero_point)
$gives vec4 reals(vec4 x, Source source)
$gives vec4 reals_the_short_way(ivec4 q, Source source)
$gives bool is_tame(float factor)

struct Source {
  float scale;
  int zero_point;
};

Source real_source() { return Source(1.0, 0); }
Source integer_source(float scale, int zero_point) { return Source(flush_subnormal(scale), zero_point); }

vec4 reals(vec4 x, Source source) {
  return flush_subnormal(x);
}

vec4 reals_the_short_way(ivec4 q, Source source) {
  precise const vec4 difference = intBitsToFloat(q + (kRoundingShiftBits - source.zero_point)) - kRoundingShift;
  precise const vec4 x = difference * source.scale;
  return x;
}

vec4 reals(ivec4 q, Source source) {
  if (is_in_short_reach(source.zero_point) && is_in_short_reach(q)) return reals_the_short_way(q, source);
  vec4 x;
  for (uint lane = 0u; lane < 4u; ++lane) x[lane] = dequantize(q[lane], source.scale, source.zero_point);
  return x;
}

// Whether no special value can occur for 8-bit operands with one scale and zero point each: no NaN, no subnormal,
// nothing out of reach of `rounding_shift`. The condition is the same for all invocations and is checked once, so that
// the rest has no branches.
//
// If all scales, and the factors of floats, have magnitudes of 2^-40 to 2^40, a dequantized value is 0 or of 2^-40 to
// 2^62: a difference of integers, up to 2^22, times its scale. A product of two is then 0 or of 2^-80 to 2^124. A sum
// of two, one of which was multiplied again, is 0 or of 2^-103 to 2^103: the place of the lowest bit of 2^-80.
bool is_tame(float factor) {
  const uint kLeast = 0x2b800000u;  // 2^-40
  const uint kMost = 0x53800000u;   // 2^40
  return (floatBitsToUint(factor) & kMagnitude) - kLeast <= kMost - kLeast;
}

bool is_tame(Source source) { return is_tame(source.scale) && is_in_short_reach(source.zero_point); }

$part result
// Stores four floats as elements of the output: as they are, or as integers of a block.
$include "lib/quantizer.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$needs quantize
$gives Block output_block(uint parameter)
$gives void store_quad(uint quad, vec4 y, Block block)

Block output_block(uint parameter) {
$if is_float(output_dtype)
  return make_block(1.0, 0);  // floating-point, independent of blocks
$else
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  return make_block(output_scale_data[parameter], zero_point);
$end
}

$if is_float(output_dtype)
vec4 elements(vec4 y, Block block) { return y; }
$else
ivec4 elements(vec4 y, Block block) { return quantize(y, block); }
$end

void store_quad(uint quad, vec4 y, Block block) { output_words[quad] = pack_${output_dtype}(elements(y, block)); }

// A quad whose lanes may belong to several blocks.
void store_quad(uint quad, vec4 y, uvec4 parameters) {
$if is_float(output_dtype)
  store_quad(quad, y, output_block(0u));
$else
  ivec4 of_block;
  ivec4 made;
  for (uint lane = 0u; lane < 4u; ++lane) {
    if (lane == 0u || parameters[lane] != parameters[lane - 1u]) of_block = elements(y, output_block(parameters[lane]));
    made[lane] = of_block[lane];
  }
  output_words[quad] = pack_${output_dtype}(made);
$end
}

$part kinds
// The properties of an operand's dtype.
$gives bool is_real(uint kind)
$gives uint bytes_of(uint kind)

bool is_real(uint kind) { return kind <= kFusedDtypeF16; }
uint bytes_of(uint kind) {
  return kind == kFusedDtypeI8 || kind == kFusedDtypeU8     ? 1u
         : kind == kFusedDtypeF16 || kind == kFusedDtypeI16 ? 2u
                                                            : 4u;
}
