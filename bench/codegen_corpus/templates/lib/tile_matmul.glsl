// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// C = A * B, A row-major [m, k], B row-major [k, n]: a workgroup of 8 x 8 invocations owns a tile of C and walks over k,
// keeping a slice of A and of B in shared memory.
layout(local_size_x = 64) in;

const uint kRows = ${tile_m / 8};
const uint kColumns = ${tile_n / 8};
shared float slice_a[${tile_k}][${tile_m + 1}];
shared float slice_b[${tile_k}][${tile_n + 1}];
float sums[kRows][kColumns];

uint tile_row() { return gl_WorkGroupID.y * ${tile_m}; }
uint tile_column() { return gl_WorkGroupID.x * ${tile_n}; }

void load_slices(uint k) {
  for (uint i = gl_LocalInvocationIndex; i < ${tile_m * tile_k}; i += 64u) {
    const uint row = tile_row() + i / ${tile_k}, column = k + i % ${tile_k};
    const bool is_inside = row < problem.m && column < problem.k;
    slice_a[i % ${tile_k}][i / ${tile_k}] = is_inside ? load_a(row, column) : 0.0;
  }
  for (uint i = gl_LocalInvocationIndex; i < ${tile_n * tile_k}; i += 64u) {
    const uint row = k + i / ${tile_n}, column = tile_column() + i % ${tile_n};
    const bool is_inside = row < problem.k && column < problem.n;
    slice_b[i / ${tile_n}][i % ${tile_n}] = is_inside ? load_b(row, column) : 0.0;
  }
}

void multiply_slices(uint y, uint x) {
  for (uint k = 0u; k < ${tile_k}; k += ${steps}) {
$for step in range(steps)
    {
      float a[kRows], b[kColumns];
      for (uint r = 0u; r < kRows; ++r) a[r] = slice_a[k + ${step}][y + 8u * r];
      for (uint c = 0u; c < kColumns; ++c) b[c] = slice_b[k + ${step}][x + 8u * c];
      for (uint r = 0u; r < kRows; ++r) {
        for (uint c = 0u; c < kColumns; ++c) sums[r][c] = fma(a[r], b[c], sums[r][c]);
      }
    }
$end
  }
}

// finish(row, column, sum) stores what the tile holds.
void multiply_tile() {
  const uint y = gl_LocalInvocationIndex / 8u, x = gl_LocalInvocationIndex % 8u;
  for (uint r = 0u; r < kRows; ++r) {
    for (uint c = 0u; c < kColumns; ++c) sums[r][c] = 0.0;
  }
  for (uint k = 0u; k < problem.k; k += ${tile_k}) {
    load_slices(k);
    barrier();
    multiply_slices(y, x);
    barrier();
  }
  for (uint r = 0u; r < kRows; ++r) {
    for (uint c = 0u; c < kColumns; ++c) {
      const uint row = tile_row() + y + 8u * r, column = tile_column() + x + 8u * c;
      if (row < problem.m && column < problem.n) finish(row, column, sums[r][c]);
    }
  }
}
