// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scale and zero point of the elements being worked on, looked up again only where the block changes.
$include "lib/parameter_index.glsl"

uint current_parameter = 0xffffffffu;
float current_scale;  // what prepare() made of it
int current_zero_point;

void select_parameter(uint parameter) {
  if (parameter == current_parameter) return;
  current_parameter = parameter;
  current_scale = prepare(scale_data[parameter]);
  current_zero_point =
      problem.zero_points == 0u ? 0 : zero_point_data[min(parameter, problem.zero_points - 1u)];
}
