// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Outputs of convolutions whose input has its scale and its zero point in tensors. They come from exact sums of
// products, which lack the correction of the part `columns`. `at` is (width, height, channel, image).
$include "lib/linear_outputs.glsl" activate
$include "lib/dynamic_outputs.glsl" columns
$include "lib/float32.glsl"
$include "lib/float32.glsl" rounding_shift
$include "lib/real_elements.glsl" store
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

$part columns
$include "lib/float32.glsl"
$gives uint last_column()
$gives int tap_sum(uint n, uint tap)
$gives struct Columns
$gives Columns columns_at(uint column)

uint last_column() { return problem.output_sides[2] - 1u; }
int tap_sum(uint n, uint tap) { return weight_sums_data[n * problem.tap_sums + tap]; }

// The values that the outputs of four channels share.
struct Columns {
  vec4 scale, bias;
  ivec4 correction;  // minus zero point times the sum of the weights
  ivec4 weight_zero_points;
};

Columns columns_at(uint column) {
  const float input_scale = flush_subnormal(scale_data[0]);
  const uint taps = problem.channels == 0u ? 0u : problem.tap_sums;  // of no channels there are no sums
  Columns columns;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const uint n = min(column + lane, last_column());
    precise const float scale = input_scale * flush_subnormal(weight_scales_data[n]);
    int sum = 0;
    for (uint tap = 0u; tap < taps; ++tap) sum += tap_sum(n, tap);
    columns.scale[lane] = flush_product(scale);
    columns.bias[lane] = problem.has_bias != 0u ? flush_subnormal(bias_data[n]) : 0.0;
    columns.correction[lane] = -zero_point_data[0] * sum;
    columns.weight_zero_points[lane] = problem.has_weight_zero_points != 0u ? weight_zero_points_data[n] : 0;
  }
  return columns;
}
