// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels in which a workgroup computes one tile of lib/weight_fragments.glsl.
$include "lib/weight_fragments.glsl"
$needs uint workgroup_index()
$needs uint loads_per_row()
$needs void begin_rows(uint first_m)
$needs float row_scale(uint m)
$needs float finished(float sum, uint n)
$needs void store_real(uint index, float value)

void main() {
  const uint column_tiles = (problem.n + kColumns - 1u) / kColumns;
  const uint first_n = workgroup_index() % column_tiles * kColumns;
  const uint first_m = workgroup_index() / column_tiles * kRows;
  if (first_m >= problem.m) return;

  fetch_weights(first_n, gl_SubgroupID);
  begin_rows(first_m);
  const bool by_matrices = has_mapping();
  if (by_matrices) {
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) sums[i][j] = SUMS(0.0);
    }
    const uint blocks = loads_per_row() / 4u;
    for (uint block = gl_SubgroupID; block < blocks; block += gl_NumSubgroups) {
      add_block(first_m, first_n, block, block + gl_NumSubgroups);
    }
    put_sums();
  }
  barrier();
  for (uint i = gl_LocalInvocationIndex; i < kRows * kColumns; i += ${team.workgroup}) {
    const uint m = first_m + i / kColumns, n = first_n + i % kColumns;
    if (m >= problem.m || n >= problem.n) continue;
    const float sum = by_matrices ? total_of(i) : plain_sum(m, n);
    store_real(m * problem.n + n, finished(sum * row_scale(m), n));
  }
}
