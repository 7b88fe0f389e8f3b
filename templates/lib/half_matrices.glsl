// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// f16 products on cooperative matrices, from the rows of x and w in shared memory (lib/matrix_tile.glsl), one k step at
// a time. Multiplies the matrices in shared memory. `corner`: of this subgroup's outputs in the tile.
$include "lib/matrix_tile.glsl"
// LOAD_COLUMNS(w, k, word, column): loads a matrix of w, the k-th of the step, at word `word` of its rows, from column
// `column` of the tile on.
$needs LOAD_COLUMNS
$needs SUMS  // the matrices of sums
$gives void multiply(uvec2 corner)

void multiply(uvec2 corner) {
  [[unroll]] for (uint k = 0u; k < ${step} / ${matrix.k}u; ++k) {
    const uint word = k * ${matrix.k / 8}u * kWords;
    coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> x[${blocks.m}];
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopMatLoad(x[i], tile_words, (corner.x + i * ${matrix.m}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> w;
      LOAD_COLUMNS(w, k, word, corner.y + j * ${matrix.n}u);
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) SUMS[i][j] = coopMatMulAdd(x[i], w, SUMS[i][j]);
    }
  }
}
