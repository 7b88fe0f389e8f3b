// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// int8 products on cooperative matrices, from the rows of x and w in shared memory (lib/matrix_tile.glsl). They go
// through k in spans.
$include "lib/matrix_tile.glsl"
$needs const uint kSpan  // elements of k
$gives sums
$gives void multiply(uvec2 corner, uint span)

coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

// Adds the products of one matrix width of bytes, from `word` of a row on.
void multiply_at(uvec2 corner, uint word) {
  coopmat<int8_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> x[${blocks.m}];
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    coopMatLoad(x[i], tile_words, (corner.x + i * ${matrix.m}u) * kPitch + word, kPitch,
                gl_CooperativeMatrixLayoutRowMajor);
  }
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    coopmat<int8_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> w;
    coopMatLoad(w, tile_words, kWeightTile + (corner.y + j * ${matrix.n}u) * kPitch + word, kPitch,
                gl_CooperativeMatrixLayoutColumnMajor);
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) sums[i][j] = coopMatMulAdd(x[i], w, sums[i][j]);
  }
}

// Adds the products of span `span` of the step. `corner`: of this subgroup's outputs in the tile. An unrolled loop
// loads matrices of all its rounds before it multiplies the first. Long loops gain by it with up to eight sums (4096 x
// 4096 x 4096 by 4 x 2 matrices a subgroup: 294 -> 271 us on an H200); short ones waste registers.
void multiply(uvec2 corner, uint span) {
  const uint kDepth = ${matrix.k / min(16, matrix.k)}u;  // of a matrix, in words
  const uint first = span * (kSpan / 16u * kWords);
$if matrix.k >= 32
  if (${blocks.m} * ${blocks.n} <= (kSpan < 128u ? 4u : 8u)) {
    [[unroll]] for (uint k = 0u; k < kSpan / ${matrix.k}u; ++k) multiply_at(corner, first + k * kDepth);
    return;
  }
$end
  [[dont_unroll]] for (uint k = 0u; k < kSpan / ${matrix.k}u; ++k) multiply_at(corner, first + k * kDepth);
}
