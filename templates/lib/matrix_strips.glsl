// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From the sums of a tile of cooperative matrices (lib/matrix_tile.glsl) to outputs. They go through shared memory,
// since which invocation holds which element is the device's secret. The includer says
//
//   put_block(i, j, word)       stores block (i, j) of this subgroup's sums from that word on, rows kStripPitch apart
//   sums_at(word)               four sums from there
//   is_output(row, column)      whether there is one
//   Columns, tile_columns_at(n) what the outputs of four columns from n on have in common
//   has_stored_shortly(first, corner, row_offset, columns)
//                               whether it has stored the strip whose sums lie from word `first` on; `corner`: the
//                               strip's first row, and the first of the four columns that this invocation keeps to
//   store_outputs(row, column, sums_at(word), columns)      otherwise

// Each subgroup has its own part of the shared memory, and puts the strips of its rows of matrices there in turn. That
// is a loop, although which matrix is meant must be a constant, so that what follows is in the pipeline once. `corner`
// is the subgroup's in the outputs.
void store_sums(uvec2 corner, uint row_offset) {
  const uint first = gl_SubgroupID * kStripWords;
  Columns columns;
  for (uint part = 0u; part < ${blocks.m} * ${blocks.n} / 2u; ++part) {
    const uint block = part % ${blocks.m};
    const uint strip = part / ${blocks.m} * 2u;
    subgroupBarrier();
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
        if (i == block && j - j % 2u == strip) put_block(i, j, first + j % 2u * ${matrix.n / 4}u * kWords);
      }
    }
    subgroupBarrier();
    // An invocation keeps to four columns of a strip.
    const uint column = corner.y + strip * ${matrix.n}u + gl_SubgroupInvocationID % kStripVectors * 4u;
    if (block == 0u) columns = tile_columns_at(column);
    const uint first_row = corner.x + block * ${matrix.m}u;
    if (has_stored_shortly(first, uvec2(first_row, column), row_offset, columns)) continue;
    for (uint at = gl_SubgroupInvocationID; at < ${matrix.m}u * kStripVectors; at += gl_SubgroupSize) {
      const uint row = first_row + at / kStripVectors;
      if (is_output(row, column)) store_outputs(row + row_offset, column, sums_at(first + strip_word(at)), columns);
    }
  }
}
