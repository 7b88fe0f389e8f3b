// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of the weights that the matrix product of lib/conv_part.glsl reads for an output channel.
$include "lib/conv_part.glsl"
$gives int weight_sum(uint n)

int weight_sum(uint n) {
$if direction == transposed
  int sum = 0;
  if (problem.channels == 0u) return sum;  // there are no sums of taps
  for (uint y = 0u; y < part.taps.y; ++y) {
    for (uint x = 0u; x < part.taps.x; ++x) {
      const uvec2 tap = part.first + uvec2(x, y) * uvec2(problem.tap_step[0], problem.tap_step[1]);
      sum += weight_sums_data[n * problem.tap_sums + tap.y * problem.taps[0] + tap.x];
    }
  }
  return sum;
$else
  return weight_sums_data[n];
$end
}
