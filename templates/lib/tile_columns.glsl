// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the columns of a tile have in common (lib/linear_outputs.glsl), read once, by the whole workgroup, before the
// first step: at the end of a tile nothing waits for memory. The includer says kColumns and kInvocations.
//
//   load_columns(first)            before a barrier
//   tile_columns_at(column)        four columns, of which the tile's first is `first`
shared float column_scale[kColumns];
shared float column_bias[kColumns];
shared int column_correction[kColumns];
uint first_column;

void load_columns(uint first) {
  first_column = first;
  [[dont_unroll]] for (uint i = gl_LocalInvocationIndex; i < kColumns; i += kInvocations) {
    const Column column = column_at(first + i);
    column_scale[i] = column.scale;
    column_bias[i] = column.bias;
    column_correction[i] = column.correction;
  }
}

Column tile_column(uint i) { return Column(column_scale[i], column_bias[i], column_correction[i]); }

Columns tile_columns_at(uint column) {
  const uint i = column - first_column;
  return joined(tile_column(i), tile_column(i + 1u), tile_column(i + 2u), tile_column(i + 3u));
}
