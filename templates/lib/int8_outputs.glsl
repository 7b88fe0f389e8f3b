// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The end of the int8 epilogue, from four rounded results to the stored bytes: a lookup table, and the sum with a
// residual. docs/linear.md is the definition. The residual has the layout of the output.
//
//   output_of(q, residual)      the four bytes to be stored
//   by_table(word)              four bytes by the table, where there is one
//   residual_added(word, residual)        with a residual, where there is one
//   sum_with_residual(result, residual)  where there is one: of four results, dequantized
//   residual_word(at)           four bytes of the residual, or one; 0 where there is none
//   residual_byte(at)
//   padded(word, count)         with padding behind the first `count` bytes
$include "lib/q8ta.glsl"
$include "lib/words.glsl"
$gives uint output_of(ivec4 q, uint residual)
$gives uint by_table(uint word)
$gives uint residual_added(uint word, uint residual)
$gives uint sum_with_residual(vec4 result, uint residual)
$gives uint residual_word(uint at)
$gives uint residual_byte(uint at)
$gives uint padded(uint word, uint count)

${declare_words(table)}
${declare_words(residual)}

// The table begins with what -128 becomes. Shifts, since a component that is only known at run time would be a branch.
uint looked_up(uint byte) {
  const uint place = byte ^ 0x80u;
  return table_words[place / 4u] >> (8u * (place % 4u)) & 0xffu;
}

uint by_table(uint word) {
  if (!${with_table}) return word;
  return looked_up(word & 0xffu) | looked_up(word >> 8 & 0xffu) << 8 | looked_up(word >> 16 & 0xffu) << 16 |
         looked_up(word >> 24) << 24;
}

uint sum_with_residual(vec4 result, uint residual) {
  precise const vec4 sum = result + dequantized(residual, problem.residual_scale, problem.residual_zero_point);
  const int zero_point = problem.output_zero_point;
  return quantized_between(sum, problem.output_inverse_scale, zero_point, float(-128 - zero_point),
                           float(127 - zero_point));
}

uint residual_added(uint word, uint residual) {
  if (!${with_residual}) return word;
  return sum_with_residual(dequantized(word, problem.result_scale, problem.result_zero_point), residual);
}

uint residual_word(uint at) { return ${with_residual} ? residual_words[at] : 0u; }
uint residual_byte(uint at) { return residual_word(at / 4u) >> (8u * (at % 4u)) & 0xffu; }

uint output_of(ivec4 q, uint residual) { return residual_added(by_table(pack_i8(q)), residual); }

uint padded(uint word, uint count) {
  if (count >= 4u) return word;
  const uint kept = (1u << (8u * count)) - 1u;
  return (word & kept) | (uint(problem.output_zero_point & 0xff) * 0x01010101u & ~kept);
}
