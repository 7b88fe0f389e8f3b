// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Passes the sums of a tile of cooperative matrices (lib/matrix_tile.glsl) to the epilogue. They go through shared
// memory, because Vulkan does not define which invocation holds which element. What follows is the part `plain`, or the
// int8 outputs of lib/int8_matrix_product.glsl. Both give
//
//   kFetchesInLastRound                 whether begin_outputs() does anything
//   begin_outputs(corner, row_offset)   before the last products: fetches what outputs wait for
//   store_sums(corner, row_offset)      the outputs from `corner` on, this subgroup's first; rows `row_offset` further
//
// Each subgroup has a separate part of the shared memory for its strips in turn: the strips of a pair of columns of
// matrices follow one another. `strip` is which row of matrices, and which pair.
$include "lib/matrix_tile.glsl"
// Stores block (i, j) of this subgroup's sums from that word on, rows kStripPitch apart.
$needs void put_block(uint i, uint j, uint word)
$gives const uint kPairs
$gives uvec2 strip_corner(uvec2 corner, uvec2 strip)
$gives uint first_strip_word()
$gives void put_strip(uvec2 strip, uint gap)
$gives void subgroup_meets()

const uint kPairs = ${blocks.n} / 2u;

// The first row and column of a strip in the outputs.
uvec2 strip_corner(uvec2 corner, uvec2 strip) { return corner + strip * uvec2(${matrix.m}u, 2u * ${matrix.n}u); }

uint first_strip_word() { return gl_SubgroupID * kStripWords; }

// Nothing but the strips goes from invocation to invocation: outputs need not wait.
void subgroup_meets() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

// Puts the sums of a strip down, with `gap` vectors of padding between its two matrices. Which matrix is meant must be
// a constant, also where `strip` is none.
void put_strip(uvec2 strip, uint gap) {
  subgroup_meets();
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      if (i == strip.x && j / 2u == strip.y) {
        put_block(i, j, first_strip_word() + j % 2u * (${matrix.n / 4}u + gap) * kWords);
      }
    }
  }
  subgroup_meets();
}

$part plain
// Outputs from strips, by a loop over groups of four sums. So the pipeline has the epilogue only once. Neighbouring
// invocations store adjacent elements: the vectors of a row, or with ROWS_ARE_NEIGHBOURS a vector of each row.
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

$part column_scales
// The struct Columns of `plain` for weights with one scale per column. The sums of a column are multiplied by its
// scale.
$gives struct Columns
$gives Columns tile_columns_at(uint column)

struct Columns { vec4 scale; };

Columns tile_columns_at(uint column) {
  Columns columns;
  for (uint lane = 0u; lane < 4u; ++lane) columns.scale[lane] = weight_scales_data[min(column + lane, problem.n - 1u)];
  return columns;
}
