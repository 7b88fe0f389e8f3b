// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Softmax over rows, in three passes over the row.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"
$include "lib/row_reduce.glsl"

${glsl_type(f32, vec)} load(uint i) { return ${glsl_type(f32, vec)}(input_data[row_begin() + i]); }

void main() {
  if (workgroup_index() >= problem.rows) return;
  float largest = -kLargest;
  for (uint first = gl_LocalInvocationIndex; first < row_vectors(); first += kStep) {
$for item in range(items)
    if (first + ${item} * ${workgroup} < row_vectors()) largest = max(largest, largest_of_lanes(load(first + ${item} * ${workgroup})));
$end
  }
  largest = largest_of_row(largest);
  float sum = 0.0;
  for (uint first = gl_LocalInvocationIndex; first < row_vectors(); first += ${workgroup}) {
    sum += sum_of_lanes(exp(load(first) - largest));
  }
  sum = sum_of_row(sum);
  for (uint i = gl_LocalInvocationIndex; i < row_vectors(); i += ${workgroup}) {
    output_data[row_begin() + i] = ${glsl_type(dtype, vec)}(exp(load(i) - largest) / sum);
  }
}
