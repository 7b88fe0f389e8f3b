// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Mean and variance of each row, then scale and shift by column.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(gain, vec)}
${declare(shift, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"
$include "lib/row_reduce.glsl"

${glsl_type(f32, vec)} load(uint i) { return ${glsl_type(f32, vec)}(input_data[row_begin() + i]); }

void main() {
  if (workgroup_index() >= problem.rows) return;
  float sum = 0.0;
  for (uint first = gl_LocalInvocationIndex; first < row_vectors(); first += kStep) {
$for item in range(items)
    if (first + ${item} * ${workgroup} < row_vectors()) sum += sum_of_lanes(load(first + ${item} * ${workgroup}));
$end
  }
  const float mean = sum_of_row(sum) / float(problem.columns);
  float squares = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < row_vectors(); i += ${workgroup}) {
    const ${glsl_type(f32, vec)} distance_to_mean = load(i) - mean;
    squares += sum_of_lanes(distance_to_mean * distance_to_mean);
  }
  const float inverse = inversesqrt(sum_of_row(squares) / float(problem.columns) + problem.epsilon);
  for (uint i = gl_LocalInvocationIndex; i < row_vectors(); i += ${workgroup}) {
    output_data[row_begin() + i] = ${glsl_type(dtype, vec)}((load(i) - mean) * inverse * gain_data[i] + shift_data[i]);
  }
}
