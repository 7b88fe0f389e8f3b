// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sliced k, for lib/int8_matrix_product.glsl: a workgroup has several groups of subgroups. Each group multiplies a part
// of every k step, for the whole tile. In the end, the first group adds the sums of the others and stores the outputs
// (part `make_tile`). This file comes before lib/matrix_tile.glsl.
$gives const uint kStrips
$gives const uint kStoring
$gives const uint kMultiplied
$gives uint first_multiplied()
$gives uint subgroup_of_tile()
$gives uint group_of_k()
$gives const uint kGroups
$gives const uint kGroupSubgroups
$gives const uint kSubgroupStrips

const uint kGroups = ${subgroups.k};
const uint kGroupSubgroups = ${subgroups.m} * ${subgroups.n};
const uint kSubgroupStrips = ${blocks.m} * ${blocks.n} / 2u;
const uint kStrips = (kGroups - 1u) * kGroupSubgroups * kSubgroupStrips;  // of all groups but the first
const uint kStoring = ${subgroups.workgroup} / kGroups;
const uint kMultiplied = ${step} / kGroups;

uint group_of_k() { return gl_SubgroupID / kGroupSubgroups; }
uint subgroup_of_tile() { return gl_SubgroupID % kGroupSubgroups; }
uint first_multiplied() { return group_of_k() * kMultiplied; }

$part make_tile
// Computes and stores the outputs of a tile, as the part `make_tile` of lib/int8_matrix_product.glsl does.
$include "lib/int8_matrix_product.glsl"
$include "lib/matrix_strips.glsl"
$include "lib/sliced_k.glsl"
$gives void make_tile(uvec2 tile, uint begin, uint end, uint row_offset)

// Where group `group`, 1 or more, puts its block (i, j): a word of the shared memory.
uint joined_word(uint group, uint i, uint j) {
  const uint strip = ((group - 1u) * kGroupSubgroups + subgroup_of_tile()) * kSubgroupStrips + i * (${blocks.n} / 2u);
  return (strip + j / 2u) * kStripWords + j % 2u * ${matrix.n / 4}u * kWords;
}

void join_sums() {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      if (group_of_k() > 0u) put_block(i, j, joined_word(group_of_k(), i, j));
    }
  }
  barrier();
  if (group_of_k() == 0u) {
    [[unroll]] for (uint group = 1u; group < kGroups; ++group) {
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
        [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
          coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> other;
          coopMatLoad(other, tile_words, joined_word(group, i, j), kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
          sums[i][j] += other;
        }
      }
    }
  }
  barrier();  // the shared memory is free again
}

// Passes as many barriers as a subgroup that stores outputs (put_strip() of lib/matrix_strips.glsl). In llvmpipe, a
// subgroup that ends here would end the others before they store outputs.
void pass_strips() {
  for (uint i = 0u; i < 2u * kPairs * ${blocks.m}; ++i) subgroup_meets();
}

// Vectors begin to end of the rows and columns from `tile` on; rows of outputs are stored `row_offset` further on.
void make_tile(uvec2 tile, uint begin, uint end, uint row_offset) {
  sum_tile(tile, begin, end, row_offset);
  join_sums();
  if (group_of_k() == 0u) {
    store_sums(tile + subgroup_corner(), row_offset);
  } else {
    pass_strips();
  }
}
