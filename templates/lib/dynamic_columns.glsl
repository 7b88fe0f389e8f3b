// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the outputs of four channels share, where the scale and the zero point of the input are tensors.
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
