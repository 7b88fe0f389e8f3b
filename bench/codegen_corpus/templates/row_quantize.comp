// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each row to i8 with a scale of its own, chosen from its largest magnitude.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(scale)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"
$include "lib/row_reduce.glsl"

${glsl_type(f32, vec)} load(uint i) { return ${glsl_type(f32, vec)}(input_data[row_begin() + i]); }

void main() {
  if (workgroup_index() >= problem.rows) return;
  float largest = 0.0;
  for (uint first = gl_LocalInvocationIndex; first < row_vectors(); first += kStep) {
$for item in range(items)
    if (first + ${item} * ${workgroup} < row_vectors()) largest = max(largest, largest_of_lanes(abs(load(first + ${item} * ${workgroup}))));
$end
  }
  largest = largest_of_row(largest);
  const float row_scale = max(largest / 127.0, problem.epsilon);
  if (gl_LocalInvocationIndex == 0u) scale_data[workgroup_index()] = row_scale;
  for (uint i = gl_LocalInvocationIndex; i < row_vectors(); i += ${workgroup}) {
    const ${glsl_type(f32, vec)} x = load(i);
$if vec == 1
    output_data[row_begin() + i] = int8_t(quantize(x, row_scale, 0, -127, 127));
$else
    ${glsl_type(i32, vec)} q;
    for (uint lane = 0u; lane < ${vec}; ++lane) q[lane] = quantize(x[lane], row_scale, 0, -127, 127);
    output_data[row_begin() + i] = ${glsl_type(i8, vec)}(q);
$end
  }
}
