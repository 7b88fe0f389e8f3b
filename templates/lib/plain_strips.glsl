// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Outputs from the strips of lib/matrix_strips.glsl, by a loop over groups of four sums. So the pipeline has the
// epilogue only once. Neighbouring invocations store adjacent elements: the vectors of a row, or with
// ROWS_ARE_NEIGHBOURS a vector of each row.
$include "lib/matrix_strips.glsl"
$needs struct Columns
$needs bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }
$needs store_outputs  // void store_outputs(uint row, uint column, T sums, Columns columns)
$needs sums_at        // T sums_at(uint word): four sums, integers or reals
$needs Columns tile_columns_at(uint column) { return Columns(0u); }
$gives const bool kFetchesInLastRound
$gives void begin_outputs(uvec2 corner, uint row_offset)
$gives void store_sums(uvec2 corner, uint row_offset)

const bool kFetchesInLastRound = false;
void begin_outputs(uvec2 corner, uint row_offset) {}

void store_sums(uvec2 corner, uint row_offset) {
  Columns columns;
  for (uint strip = 0u; strip < kPairs * ${blocks.m}; ++strip) {
    const uvec2 at = uvec2(strip % ${blocks.m}, strip / ${blocks.m});
    put_strip(at, 0u);
#ifdef ROWS_ARE_NEIGHBOURS
    for (uint i = gl_SubgroupInvocationID; i < ${matrix.m}u * kStripVectors; i += gl_SubgroupSize) {
      const uint row = i % ${matrix.m}u, vector = i / ${matrix.m}u;
      const uvec2 place = strip_corner(corner, at) + uvec2(row, vector * 4u);
      const uint word = first_strip_word() + strip_word(row, vector);
      if (is_output(place.x, place.y)) {
        store_outputs(place.x + row_offset, place.y, sums_at(word), tile_columns_at(place.y));
      }
    }
#else
    const uvec2 place = strip_corner(corner, at) + uvec2(0u, gl_SubgroupInvocationID % kStripVectors * 4u);
    if (at.x == 0u) columns = tile_columns_at(place.y);
    for (uint i = gl_SubgroupInvocationID; i < ${matrix.m}u * kStripVectors; i += gl_SubgroupSize) {
      const uint row = i / kStripVectors;
      const uint word = first_strip_word() + strip_word(row, i % kStripVectors);
      if (is_output(place.x + row, place.y)) store_outputs(place.x + row + row_offset, place.y, sums_at(word), columns);
    }
#endif
  }
}
