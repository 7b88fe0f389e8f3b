// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Real to integer, with a scale and a zero point for each channel.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(scale)}
${declare(zero_point)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"

void step(uint i) {
  const ${glsl_type(f32, vec)} x = ${glsl_type(f32, vec)}(input_data[i]);
$if vec == 1
  const uint channel = i / problem.inner % problem.channels;
  output_data[i] = ${glsl_type(output_dtype)}(
      quantize(x, scale_data[channel], zero_point_data[channel], problem.low, problem.high));
$else
  ${glsl_type(i32, vec)} q;
  for (uint lane = 0u; lane < ${vec}; ++lane) {
    const uint channel = (${vec} * i + lane) / problem.inner % problem.channels;
    q[lane] = quantize(x[lane], scale_data[channel], zero_point_data[channel], problem.low, problem.high);
  }
  output_data[i] = ${glsl_type(output_dtype, vec)}(q);
$end
}
$include "lib/steps.glsl"

void main() { all_steps(); }
