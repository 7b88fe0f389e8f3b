// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The block of the elements being worked on: what its scale and zero point come down to, looked up again only where the
// block changes. lib/quantizer.glsl and lib/dequantizer.glsl say what a Block is.
$include "lib/parameter_index.glsl"

uint current_parameter = 0xffffffffu;
Block current_block;

Block block_at(uint parameter) {
  const int zero_point =
      problem.zero_points == 0u ? 0 : zero_point_data[min(parameter, problem.zero_points - 1u)];
  return make_block(scale_data[parameter], zero_point);
}

void select_block_of(uint element) {
  const uint parameter = parameter_of(element);
  if (parameter == current_parameter) return;
  current_parameter = parameter;
  current_block = block_at(parameter);
}

// Whether four elements from a multiple of four on are of one block, wherever they lie.
bool are_words_of_one_block() { return problem.parameters == 1u || (problem.run & 3u) == 0u; }
