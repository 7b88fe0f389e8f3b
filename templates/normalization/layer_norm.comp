// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// (x - mean) / sqrt(variance + epsilon) * weight + bias, in f32. A workgroup owns a row, and passes over it once for
// its mean, once for its variance, which so is never a difference of large numbers, and once for the results.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare(weight)}
${declare(bias)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/load_real.glsl"
$include "lib/store_real.glsl"
$include "lib/workgroup_reduce.glsl"

$if input_dtype == f16
${declare_bits(weight)}
${declare_bits(bias)}
float weight_at(uint column) { return f16_to_f32(uint(weight_bits[column])); }
float bias_at(uint column) { return f16_to_f32(uint(bias_bits[column])); }
$else
float weight_at(uint column) { return weight_data[column]; }
float bias_at(uint column) { return bias_data[column]; }
$end

void main() {
  const uint row = workgroup_index();   // the same for all members, so that none misses a barrier
  if (row >= problem.rows) return;
  const uint first = row * problem.columns;

  float sum = 0.0;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) sum += load_real(first + k);
  const float mean = workgroup_sum(sum) * problem.inverse_columns;

  float squares = 0.0;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    const float difference = load_real(first + k) - mean;
    squares += difference * difference;
  }
  const float factor = inversesqrt(workgroup_sum(squares) * problem.inverse_columns + problem.epsilon);

  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    float y = (load_real(first + k) - mean) * factor;
    if (problem.has_weight != 0u) y *= weight_at(k);
    if (problem.has_bias != 0u) y += bias_at(k);
    store_real(first + k, y);
  }
}
