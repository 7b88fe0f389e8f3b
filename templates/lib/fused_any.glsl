// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads and stores four elements of the operands of fused_binary, for dtypes that are problem fields. It has the
// functions of fused_binary.comp and lib/fused_result.glsl, with a few uniform branches. So one module replaces one
// for each combination of dtypes.
$include "lib/quantizer.glsl"
$include "lib/words.glsl"
$include "lib/fused_source.glsl"
$include "lib/fused_kinds.glsl"
$include "lib/affine.glsl"
$needs quantize
$gives input_source
$gives input_quad
$gives other_source
$gives other_quad
$gives Block output_block(uint parameter)
$gives void store_quad(uint quad, vec4 y, Block block)

uint words_of_quad(uint kind) { return bytes_of(kind); }  // four elements, and four bytes a word

vec4 reals_of(uvec4 words, uint kind, Source source) {
  if (is_real(kind)) return reals(kind == kFusedDtypeF32 ? unpack_f32(words) : unpack_f16(words.xy), source);
  const ivec4 bytes = kind == kFusedDtypeI8 ? unpack_i8(words.x) : unpack_u8(words.x);
  return reals(kind <= kFusedDtypeU8    ? bytes
               : kind == kFusedDtypeI16 ? unpack_i16(words.xy)
                                        : unpack_i32(words),
               source);
}

$for operand in (input, other)
vec4 ${operand}_quad(uint quad, Source source) {
  const uint kind = problem.${operand}_kind;
  const uint count = words_of_quad(kind);
  uvec4 words = uvec4(${operand}_words[quad * count], uvec3(0u));
  if (count > 1u) words.y = ${operand}_words[quad * count + 1u];
  if (count > 2u) words.zw = uvec2(${operand}_words[quad * count + 2u], ${operand}_words[quad * count + 3u]);
  return reals_of(words, kind, source);
}

Source ${operand}_source(uint parameter) {
  if (is_real(problem.${operand}_kind)) return real_source();
  const int zero_point = zero_point_of(${operand}_zero_point_data, problem.${operand}_zero_points, parameter);
  return integer_source(${operand}_scale_data[parameter], zero_point);
}

$end
Block output_block(uint parameter) {
  if (is_real(problem.output_kind)) return make_block(1.0, 0);  // floating-point, independent of blocks
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  return make_block(output_scale_data[parameter], zero_point);
}

void store_words(uint quad, uvec4 words) {
  const uint count = words_of_quad(problem.output_kind);
  output_words[quad * count] = words.x;
  if (count > 1u) output_words[quad * count + 1u] = words.y;
  if (count > 2u) {
    output_words[quad * count + 2u] = words.z;
    output_words[quad * count + 3u] = words.w;
  }
}

void store_reals(uint quad, vec4 y) {
  store_words(quad, problem.output_kind == kFusedDtypeF32 ? pack_f32(y) : uvec4(pack_f16(y), uvec2(0u)));
}

void store_integers(uint quad, ivec4 q) {
  const uint count = words_of_quad(problem.output_kind);
  store_words(quad, count == 1u   ? uvec4(pack_i8(q), uvec3(0u))
                    : count == 2u ? uvec4(pack_i16(q), uvec2(0u))
                                  : uvec4(q));
}

void store_quad(uint quad, vec4 y, Block block) {
  if (is_real(problem.output_kind)) {
    store_reals(quad, y);
  } else {
    store_integers(quad, quantize(y, block));
  }
}

// A quad whose lanes may belong to several blocks.
void store_quad(uint quad, vec4 y, uvec4 parameters) {
  if (is_real(problem.output_kind)) {
    store_reals(quad, y);
    return;
  }
  ivec4 of_block;
  ivec4 made;
  for (uint lane = 0u; lane < 4u; ++lane) {
    if (lane == 0u || parameters[lane] != parameters[lane - 1u]) of_block = quantize(y, output_block(parameters[lane]));
    made[lane] = of_block[lane];
  }
  store_integers(quad, made);
}
