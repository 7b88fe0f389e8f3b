// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Fetches a weight in rows of 16-byte loads (lib/weight_q8_rows.glsl, lib/weight_q4_rows.glsl) into the shared memory of
// lib/matrix_tile.glsl, next to the rows of x.
$include "lib/matrix_tile.glsl"
$needs N_SIZE
$needs const uint kLoadVectors                       // that a load becomes
$needs const uint kPerLoad
$needs const uint kRowLoads                          // of the weight, in a row of a step
$needs uvec4 load_vector(uvec4 load, uint i)         // the i-th of them
$needs uint loads_per_row()
$gives void fetch_weight(uint first_n, uint k)
$gives void put_down_weight()

const uint kWeightFetches = (kColumns * kRowLoads + kInvocations - 1u) / kInvocations;
uvec4 next_weight[kWeightFetches];

// Rows past the last repeat it, and so do loads past the end.
void fetch_weight(uint first_n, uint k) {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(first_n + place / kRowLoads, N_SIZE - 1u);
    const uint load = min(k / kPerLoad + place % kRowLoads, loads_per_row() - 1u);
    next_weight[i] = weight_loads[row * loads_per_row() + load];
  }
}

void put_down_weight() {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (place < kColumns * kRowLoads) {
      const uint word = kWeightTile + place / kRowLoads * kPitch + place % kRowLoads * kLoadVectors * kWords;
      [[unroll]] for (uint j = 0u; j < kLoadVectors; ++j) put_vector(word + j * kWords, load_vector(next_weight[i], j));
    }
  }
}
