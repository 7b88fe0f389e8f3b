// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The product of two real matrices by the tiles of lib/square_tile.glsl: sums over staged steps, in f32. Rows come from
// `input`, a row of the sum's terms after the other; the includer stages columns. Both staged tiles are [step][row or
// column], so that an invocation reads its own as vec4s. What comes next is fetched into registers meanwhile.
const uint kStep = 16u;  // terms of a stage
const uint kInputs = kTile * kStep / kInvocations;  // an invocation fetches of a stage

shared vec4 staged_input[kStep * kStride / 4u];
shared vec4 staged_weight[kStep * kStride / 4u];

float next_input[kInputs];
vec4 sums[${side}][kTileQuads];  // [row][quad of columns]

uint input_term(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) % kStep; }
uint input_row(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) / kStep; }

void clear_sums() {
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) sums[i][j] = vec4(0.0);
  }
}

// Of rows with `terms` elements, of a matrix that begins at element `first`. Rows past the end repeat the last; what
// they give is not stored. Terms from `end` on are 0.
void fetch_input(uint first, uint first_m, uint first_term, uint end, uint terms) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint row = min(first_m + input_row(i), problem.m - 1u);
    const uint term = first_term + input_term(i);
    next_input[i] = term < end ? load_real(first + row * terms + term) : 0.0;
  }
}

void stage_input() {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint at = input_term(i) * kStride + input_row(i);
    staged_input[at / 4u][at % 4u] = next_input[i];
  }
}

void multiply_staged() {
  for (uint term = 0u; term < kStep; ++term) {
    vec4 x[kTileQuads];
    vec4 w[kTileQuads];
    [[unroll]] for (uint i = 0u; i < kTileQuads; ++i) {
      x[i] = staged_input[term * (kStride / 4u) + i * kSide + place_m()];
      w[i] = staged_weight[term * (kStride / 4u) + i * kSide + place_n()];
    }
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) sums[i][j] += x[i / 4u][i % 4u] * w[j];
    }
  }
}
