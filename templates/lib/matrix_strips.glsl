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
//   begin_strip(corner, row_offset)                     before a strip is stored; `corner`: its first row, and the first
//                                                       of the four columns that this invocation keeps to
//   store_strip(first, corner, row_offset, columns)     stores what becomes of the sums from word `first` on
//
// lib/plain_strips.glsl and lib/int8_strips.glsl have the last two.
const uint kStrips = ${blocks.m} * ${blocks.n} / 2u;

// The strips of the same columns follow one another.
uint strip_row(uint strip) { return strip % ${blocks.m}; }
uint strip_pair(uint strip) { return strip / ${blocks.m} * 2u; }

uvec2 strip_corner(uvec2 corner, uint strip) {
  return corner + uvec2(strip_row(strip) * ${matrix.m}u,
                        strip_pair(strip) * ${matrix.n}u + gl_SubgroupInvocationID % kStripVectors * 4u);
}

// Nothing but the strips goes from invocation to invocation: outputs need not wait.
void subgroup_meets() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

// Each subgroup has its own part of the shared memory, and puts the strips of its rows of matrices there in turn. That
// is a loop, although which matrix is meant must be a constant, so that what follows is in the pipeline once. `corner`
// is the subgroup's in the outputs.
void store_sums(uvec2 corner, uint row_offset) {
  const uint first = gl_SubgroupID * kStripWords;
  Columns columns;
  begin_strip(strip_corner(corner, 0u), row_offset);
  for (uint strip = 0u; strip < kStrips; ++strip) {
    subgroup_meets();
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
        if (i == strip_row(strip) && j - j % 2u == strip_pair(strip)) {
          put_block(i, j, first + j % 2u * ${matrix.n / 4}u * kWords);
        }
      }
    }
    subgroup_meets();
    const uvec2 place = strip_corner(corner, strip);
    if (strip_row(strip) == 0u) columns = tile_columns_at(place.y);
    store_strip(first, place, row_offset, columns);
    if (strip + 1u < kStrips) begin_strip(strip_corner(corner, strip + 1u), row_offset);
  }
}
