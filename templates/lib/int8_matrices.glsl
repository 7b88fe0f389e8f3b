// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums of products of bytes on cooperative matrices, from the tile in shared memory (lib/matrix_tile.glsl).
coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

// Adds what the step that lies in shared memory gives.
void multiply(uvec2 corner) {
$if matrix.k >= 32
  [[unroll]]
$end
  for (uint k = 0u; k < ${step} / ${matrix.k}u; ++k) {
    const uint word = k * ${matrix.k / min(16, matrix.k)}u;
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
}
