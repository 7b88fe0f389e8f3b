// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Passes the sums of a tile of cooperative matrices (lib/matrix_tile.glsl) to the epilogue. They go through shared
// memory, because Vulkan does not define which invocation holds which element. What follows is lib/plain_strips.glsl, or
// the int8 outputs of lib/int8_matrix_product.glsl. Both give
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
