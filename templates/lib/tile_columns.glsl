// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the columns of a tile have in common (lib/linear_outputs.glsl), read once, by the whole workgroup, before the
// first step: at the end of a tile nothing waits for memory. The includer says kColumns and kInvocations.
//
//   load_columns(first)            before a barrier
//   tile_columns_at(column)        four columns, of which the tile's first is `first`
//   tile_column_is_short(column)   whether the column has the short way (lib/linear_outputs.glsl), where outputs are i8
uint first_column;
shared vec4 column_scale[kColumns / 4u];
shared vec4 column_bias[kColumns / 4u];
shared ivec4 column_correction[kColumns / 4u];
$if output_dtype == i8
shared bool column_shortness[kColumns];
bool tile_column_is_short(uint column) { return column_shortness[column - first_column]; }
$end

void load_columns(uint first) {
  first_column = first;
  [[dont_unroll]] for (uint i = gl_LocalInvocationIndex; i < kColumns; i += kInvocations) {
    const Column column = column_at(first + i);
    column_scale[i / 4u][i % 4u] = column.scale;
    column_bias[i / 4u][i % 4u] = column.bias;
    column_correction[i / 4u][i % 4u] = column.correction;
$if output_dtype == i8
    column_shortness[i] = column_is_short(column.scale, column.bias);
$end
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
