// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scale and zero point of the current quantization block, prepared for use. lib/quantizer.glsl and
// lib/dequantizer.glsl define a Block.
$include "lib/parameter_index.glsl"
$include "lib/zero_point.glsl"
$needs struct Block
$needs make_block
$gives Block block_of_word(uint element)
$gives Block current_block
$gives void select_block_of(uint element)

int zero_point_at(uint parameter) { return zero_point_of(zero_point_data, problem.zero_points, parameter); }

// Of four elements from a multiple of four on: of one block as a rule, and made once then.
Block block_of_word(uint element) {
  if (problem.parameters == 1u || (problem.run & 3u) == 0u) {
    const uint parameter = parameter_of(element);
    return make_block(scale_data[parameter], zero_point_at(parameter));
  }
  const uvec4 at = parameters_of(element);
  const vec4 scales = vec4(scale_data[at.x], scale_data[at.y], scale_data[at.z], scale_data[at.w]);
  return make_block(scales, ivec4(zero_point_at(at.x), zero_point_at(at.y), zero_point_at(at.z), zero_point_at(at.w)));
}

uint current_parameter = 0xffffffffu;
Block current_block;

// For elements that come one by one: looked up again only where the block changes.
void select_block_of(uint element) {
  const uint parameter = parameter_of(element);
  if (parameter == current_parameter) return;
  current_parameter = parameter;
  current_block = make_block(scale_data[parameter], zero_point_at(parameter));
}
