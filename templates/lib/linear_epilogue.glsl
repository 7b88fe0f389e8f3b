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
$include "lib/int8_outputs.glsl"
${declare_words(output)}

void store_word(uint at, ivec4 q, uint count) { output_words[at] = padded(output_of(q, residual_word(at)), count); }

void store_integers(uint row, uint column, ivec4 q) {
$if output_layout == packed_4h4w
  // Rows of all matrices, each padded to a multiple of four.
  const uint packed_row = row / problem.matrix_rows * ceil_div4(problem.matrix_rows) * 4u + row % problem.matrix_rows;
  store_word((packed_row / 4u * ceil_div4(problem.n) + column / 4u) * 4u + packed_row % 4u, q, problem.n - column);
$elif output_layout == packed_4w
  store_word(row * ceil_div4(problem.n) + column / 4u, q, problem.n - column);
$else
  const uint at = row * problem.n + column;
  if (problem.n % 4u == 0u) {
    store_word(at / 4u, q, 4u);
    return;
  }
  const uint count = min(problem.n - column, 4u);
  uint residual = 0u;
  for (uint lane = 0u; lane < count; ++lane) residual |= residual_byte(at + lane) << (8u * lane);
  const ivec4 stored = unpack_i8(output_of(q, residual));
  for (uint lane = 0u; lane < count; ++lane) output_data[at + lane] = int8_t(stored[lane]);
$end
}

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  store_integers(row, column, quantized_outputs(sums, columns));
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
