// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Replaces linear_epilogue.glsl in split K: it stores the sums of one slice of k, unchanged, for q8_linear_finish.comp,
// in [slice][m][n rounded up to four]. `row` counts through all slices.
$gives uint ceil_div4(uint x)
$gives void store_outputs(uint row, uint column, ivec4 sums, Columns columns)

uint ceil_div4(uint x) { return (x + 3u) / 4u; }

$include "lib/no_columns.glsl"

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  output_data[row * ceil_div4(problem.n) + column / 4u] = sums;
}
