// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Integer to real, with a scale and a zero point for each channel.
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
$if vec == 1
  const uint channel = i / problem.inner % problem.channels;
  output_data[i] = ${glsl_type(dtype)}(dequantize(int(input_data[i]), scale_data[channel], zero_point_data[channel]));
$else
  const ${glsl_type(i32, vec)} q = ${glsl_type(i32, vec)}(input_data[i]);
  ${glsl_type(f32, vec)} x;
$for lane in range(vec)
  {
    const uint channel = (${vec} * i + ${lane}) / problem.inner % problem.channels;
    x[${lane}] = dequantize(q[${lane}], scale_data[channel], zero_point_data[channel]);
  }
$end
  output_data[i] = ${glsl_type(dtype, vec)}(x);
$end
}
$include "lib/steps.glsl"

void main() { all_steps(); }
