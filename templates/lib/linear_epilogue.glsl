// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From the integer sums of a linear layer to its outputs, four neighbouring columns at a time:
//
//   store_outputs(row, column, sums, columns_at(column));     // column is a multiple of four
//
// The bytes of padded columns are the output's zero point.
int weight_sum(uint n) { return weight_sums_data[n]; }
uint last_column() { return problem.n - 1u; }
$include "lib/linear_outputs.glsl"

$if output_dtype == i8
${declare_words(output)}

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  ivec4 q = quantized_outputs(sums, columns);
$if output_layout == packed_4h4w
  // Rows of all matrices, each padded to a multiple of four.
  for (uint lane = 1u; lane < 4u; ++lane) q[lane] = column + lane < problem.n ? q[lane] : problem.output_zero_point;
  const uint packed_row = row / problem.matrix_rows * ceil_div4(problem.matrix_rows) * 4u + row % problem.matrix_rows;
  output_words[(packed_row / 4u * ceil_div4(problem.n) + column / 4u) * 4u + packed_row % 4u] = pack_i8(q);
$elif output_layout == packed_4w
  for (uint lane = 1u; lane < 4u; ++lane) q[lane] = column + lane < problem.n ? q[lane] : problem.output_zero_point;
  output_words[row * ceil_div4(problem.n) + column / 4u] = pack_i8(q);
$else
  if (problem.n % 4u == 0u) {
    output_words[(row * problem.n + column) / 4u] = pack_i8(q);
    return;
  }
  const uint count = min(problem.n - column, 4u);
  for (uint lane = 0u; lane < count; ++lane) output_data[row * problem.n + column + lane] = int8_t(q[lane]);
$end
}
$else
$include "lib/store_real.glsl"

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const vec4 y = linear_outputs(sums, columns);
  const uint count = min(problem.n - column, 4u);
  for (uint lane = 0u; lane < count; ++lane) {
    store_real(row * problem.n + column + lane, activate(flush_subnormal(y[lane])));
  }
}
$end
