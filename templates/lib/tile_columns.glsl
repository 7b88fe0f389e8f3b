// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The values that the columns of a tile need (lib/linear_outputs.glsl), loaded once by the whole workgroup before the
// last matrices are multiplied: at the end of a tile nothing waits for memory.
//
//   load_columns(first)            of the tile whose first column is `first`
//   put_columns()                  before a barrier
//   tile_columns_at(column)        four columns
//   tile_column_is_short(column)   whether the column has short outputs (lib/linear_outputs.glsl), if outputs are i8
$include "lib/linear_outputs.glsl"
$include "lib/matrix_tile.glsl"
$gives void load_columns(uint first)
$gives void put_columns()
$gives Columns tile_columns_at(uint column)
$gives bool tile_column_is_short(uint column)

uint first_column;
shared vec4 column_scale[kColumns / 4u];
shared vec4 column_bias[kColumns / 4u];
shared ivec4 column_correction[kColumns / 4u];
$if output_dtype == i8
bool tile_column_is_short(uint column) {
  const uint i = column - first_column;
  return column_is_short(column_scale[i / 4u][i % 4u], column_bias[i / 4u][i % 4u]);
}
$end

const uint kOwnColumns = (kColumns + kInvocations - 1u) / kInvocations;
Column own_columns[kOwnColumns];

void load_columns(uint first) {
  first_column = first;
  [[unroll]] for (uint i = 0u; i < kOwnColumns; ++i) {
    own_columns[i] = column_at(first + gl_LocalInvocationIndex + i * kInvocations);
  }
}

void put_columns() {
  [[unroll]] for (uint i = 0u; i < kOwnColumns; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kOwnColumns * kInvocations == kColumns || place < kColumns) {
      column_scale[place / 4u][place % 4u] = own_columns[i].scale;
      column_bias[place / 4u][place % 4u] = own_columns[i].bias;
      column_correction[place / 4u][place % 4u] = own_columns[i].correction;
    }
  }
}

Columns tile_columns_at(uint column) {
  const uint i = (column - first_column) / 4u;
  Columns columns;
  columns.scale = column_scale[i];
  columns.bias = column_bias[i];
  columns.correction = column_correction[i];
$if output_dtype == i8
  columns.is_short = have_short_way(columns);
$end
  return columns;
}
