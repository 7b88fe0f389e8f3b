// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of int8 linear layers, four neighbouring columns at a time:
//
//   store_outputs(row, column, sums, columns_at(column));     // column is a multiple of four
//
// The bytes of padded columns and rows are the output's zero point.
//
// In split K the output is of i32: it gets the sums of one slice of k, unchanged, for q8_linear_finish.comp, in
// [slice][m][n rounded up to four]. `row` counts through all slices.
$gives struct Columns
$gives Columns tile_columns_at(uint column)
$gives uint ceil_div4(uint x)
$gives void store_outputs(uint row, uint column, ivec4 sums, Columns columns)
$gives int weight_sum(uint n)
$gives uint last_column()
$gives uint word_at(uint row, uint column)
$gives uint residual_at(uint row, uint column)
$gives void store_bytes(uint row, uint column, uint word)

$if bytes(output_dtype) == 4 and not is_float(output_dtype)
uint ceil_div4(uint x) { return (x + 3u) / 4u; }

struct Columns { uint none; };  // which have no values in common
Columns tile_columns_at(uint column) { return Columns(0u); }

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  output_data[row * ceil_div4(problem.n) + column / 4u] = sums;
}
$else
int weight_sum(uint n) { return weight_sums_data[n]; }
uint last_column() { return problem.n - 1u; }
$include "lib/linear_outputs.glsl"

$if output_dtype == i8
${declare_words(output)}

// Of rows in whole words.
uint word_at(uint row, uint column) {
$if output_layout == packed_4h4w
  // Rows of all matrices, each padded to a multiple of four.
  const uint packed_row = row / problem.matrix_rows * ceil_div4(problem.matrix_rows) * 4u + row % problem.matrix_rows;
  return (packed_row / 4u * ceil_div4(problem.n) + column / 4u) * 4u + packed_row % 4u;
$else
  return row * ceil_div4(problem.n) + column / 4u;
$end
}

// Four bytes of the residual that are added to the outputs from (row, column) on.
uint residual_at(uint row, uint column) {
$if output_layout == strided
  if (problem.n % 4u == 0u) return residual_word(word_at(row, column));
  const uint at = row * problem.n + column;
  uint residual = 0u;
  for (uint lane = 0u; lane < min(problem.n - column, 4u); ++lane) residual |= residual_byte(at + lane) << (8u * lane);
  return residual;
$else
  return residual_word(word_at(row, column));
$end
}

void store_bytes(uint row, uint column, uint word) {
$if output_layout == strided
  if (problem.n % 4u == 0u) {
    output_words[word_at(row, column)] = word;
    return;
  }
  const uint at = row * problem.n + column;
  const ivec4 stored = unpack_i8(word);
  for (uint lane = 0u; lane < min(problem.n - column, 4u); ++lane) output_data[at + lane] = int8_t(stored[lane]);
$else
  const uint at = word_at(row, column);
  output_words[at] = padded(word, problem.n - column);
$if output_layout == packed_4h4w
  if ((row + 1u) % problem.matrix_rows != 0u) return;
  for (uint i = at + 1u; i % 4u != 0u; ++i) output_words[i] = padded(0u, 0u);
$end
$end
}

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  store_bytes(row, column, output_of(quantized_outputs(sums, columns), residual_at(row, column)));
}
$else
$include "lib/real_elements.glsl" store

void store_outputs(uint row, uint column, ivec4 sums, Columns columns) {
  const vec4 y = linear_outputs(sums, columns);
  const uint count = min(problem.n - column, 4u);
  for (uint lane = 0u; lane < count; ++lane) {
    store_real(row * problem.n + column + lane, activate(flush_subnormal(y[lane])));
  }
}
$end
$end
