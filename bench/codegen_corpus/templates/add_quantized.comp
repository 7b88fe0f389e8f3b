// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = quantize(dequantize(a) + alpha * dequantize(b)), with relu.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(a, vec)}
${declare(b, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"

int add(int a, int b) {
  const float x = dequantize(a, problem.a_scale, problem.a_zero_point);
  const float y = dequantize(b, problem.b_scale, problem.b_zero_point);
  return quantize(relu(fma(problem.alpha, y, x)), problem.scale, problem.zero_point, problem.low, problem.high);
}

void step(uint i) {
  const ${glsl_type(i32, vec)} a = ${glsl_type(i32, vec)}(a_data[i]), b = ${glsl_type(i32, vec)}(b_data[i]);
$if vec == 1
  output_data[i] = ${glsl_type(output_dtype)}(add(a, b));
$else
  ${glsl_type(i32, vec)} q;
  for (uint lane = 0u; lane < ${vec}; ++lane) q[lane] = add(a[lane], b[lane]);
  output_data[i] = ${glsl_type(output_dtype, vec)}(q);
$end
}
$include "lib/steps.glsl"

void main() { all_steps(); }
