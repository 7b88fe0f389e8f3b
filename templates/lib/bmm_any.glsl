// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The functions of lib/bmm_own.glsl for dtypes that are problem fields: elements are cut out of words.
$include "lib/affine.glsl"
$include "lib/float16.glsl"
$include "lib/fused_kinds.glsl"
$include "lib/zero_point.glsl"
$gives other_at
$gives input_at

${declare_words(input)}
${declare_words(other)}

int integer_of(uint word, uint element, uint kind) {
  if (kind == kFusedDtypeI16) return bitfieldExtract(int(word), 16 * int(element % 2u), 16);
  const int first = 8 * int(element % 4u);
  return kind == kFusedDtypeI8   ? bitfieldExtract(int(word), first, 8)
         : kind == kFusedDtypeU8 ? int(bitfieldExtract(word, first, 8))
                       : int(word);
}

$for operand in (input, other)
float ${operand}_at(uint element, uint parameter) {
  const uint kind = problem.${operand}_kind;
  const uint word = ${operand}_words[element * bytes_of(kind) / 4u];
  if (kind == kFusedDtypeF32) return flush_subnormal(uintBitsToFloat(word));
  if (kind == kFusedDtypeF16) return f16_to_f32(bitfieldExtract(word, 16 * int(element % 2u), 16));
  const int zero_point = zero_point_of(${operand}_zero_point_data, problem.${operand}_zero_points, parameter);
  return dequantize(integer_of(word, element, kind), flush_subnormal(${operand}_scale_data[parameter]), zero_point);
}

$end
