// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Outputs from exact sums of products, which lack the correction of the columns (lib/dynamic_columns.glsl). `at` is
// (width, height, channel, image).
$include "lib/activate.glsl"
$include "lib/dynamic_columns.glsl"
$include "lib/float32.glsl"
$include "lib/rounding_shift.glsl"
$include "lib/store_real.glsl"
$gives vec4 outputs_of(ivec4 sums, Columns columns)
$gives void store_outputs(uvec4 at, ivec4 sums, Columns columns)

// Each step is rounded once (docs/linear.md).
vec4 outputs_of(ivec4 sums, Columns columns) {
  const ivec4 total = sums + columns.correction;
  const vec4 real = ${sums_are_exact} ? vec4(total) : short_difference(total, ivec4(0));
  precise const vec4 product = real * columns.scale;
  precise const vec4 y = product + columns.bias;
  return y;
}

void store_outputs(uvec4 at, ivec4 sums, Columns columns) {
  const vec4 y = outputs_of(sums, columns);
  const uint plane = problem.output_strides[2];
  const uint first = at.x + at.y * problem.output_strides[1] + at.z * plane + at.w * problem.output_strides[3];
  for (uint lane = 0u; lane < min(problem.output_sides[2] - at.z, 4u); ++lane) {
    store_real(first + lane * plane, activate(flush_subnormal(y[lane])));
  }
}
