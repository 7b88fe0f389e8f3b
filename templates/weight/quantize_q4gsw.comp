// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point rows into an int4 weight form (lib/affine.glsl has the formula, with a zero point of 0). A
// scale of zero gives zeros. An invocation computes a 32-bit word.
//
//   vec 1    any shape: element by element, as lib/weight_form.glsl finds them
//   vec 8    a word of weight_q4_rows is eight neighbours of one group: two loads, one scale
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
$if vec == 1
${declare(input)}
$else
${declare_words(input, bytes(input_dtype))}
$end
${declare(weight_scales)}
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl"

// A product with the reciprocal of infinity is 0, or NaN, which counts as 0.
Block block_of(uint n, uint k) {
  const uint group = min(k / problem.group_size, problem.groups - 1u);
  const float scale = weight_scales_data[n * problem.groups + group];
  return make_block(flush_subnormal(scale) == 0.0 ? uintBitsToFloat(kInfinity) : scale, 0);
}

$if vec == 1
$include "lib/real_elements.glsl" load
$include "lib/weight_form.glsl"

int element_at(uvec2 place) {
  if (place.x >= problem.n || place.y >= problem.k) return 0;
  return quantize(load_real(place.x * problem.k + place.y), block_of(place.x, place.y));
}
$else
// Element j of the first quad is the low half of byte j, element j of the second the high one.
uint word_at(uint index) {
  const uint words_per_row = 4u * problem.blocks_k;
  const uint n = index / words_per_row;
  const uint k = index % words_per_row * 8u;
  if (k >= problem.k) return 0x88888888u;
  const uint quad = (n * problem.k + k) / 4u;
  const Block block = block_of(n, k);
  const ivec4 low = quantize(unpack_${input_dtype}(input_words[quad]), block);
  const ivec4 high = quantize(unpack_${input_dtype}(input_words[quad + 1u]), block);
  return pack_u8(low + 8) | pack_u8(high + 8) << 4;
}
$end

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.words) output_words[index] = word_at(index);
}
