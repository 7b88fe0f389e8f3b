// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The product of two floating-point matrices, by the tiles of lib/square_tile.glsl: f32 sums over staged steps. The
// includer fetches next_rows and stages columns. For rows of a row-major `input` there is fetch_rows(). Both staged
// tiles are [step][row or column], so an invocation reads its elements as vec4s. Meanwhile the next step is fetched
// into registers.
$include "lib/real_elements.glsl" load
$include "lib/square_tile.glsl"
$gives sums
$gives float next_rows
$gives uint staged_row(uint i)
$gives const uint kStep
$gives const uint kInputs
$gives shared vec4 staged_columns
$gives uint row_term(uint i)
$gives void clear_sums()
$gives void stage_rows()
$gives void multiply_staged()
$gives void fetch_rows(uint first, uint first_m, uint first_term, uint end, uint terms)

const uint kStep = 16u;  // terms of a stage
const uint kInputs = kTile * kStep / kInvocations;  // an invocation fetches of a stage

shared vec4 staged_rows[kStep * kStride / 4u];
shared vec4 staged_columns[kStep * kStride / 4u];

float next_rows[kInputs];
vec4 sums[${side}][kTileQuads];  // [row][quad of columns]

// The term and the row of the i-th element that an invocation fetches of rows: neighbours along a row.
uint row_term(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) % kStep; }
uint staged_row(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) / kStep; }

void clear_sums() {
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) sums[i][j] = vec4(0.0);
  }
}

void stage_rows() {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint at = row_term(i) * kStride + staged_row(i);
    staged_rows[at / 4u][at % 4u] = next_rows[i];
  }
}

void multiply_staged() {
  for (uint term = 0u; term < kStep; ++term) {
    vec4 x[kTileQuads];
    vec4 w[kTileQuads];
    [[unroll]] for (uint i = 0u; i < kTileQuads; ++i) {
      x[i] = staged_rows[term * (kStride / 4u) + i * kSide + place_m()];
      w[i] = staged_columns[term * (kStride / 4u) + i * kSide + place_n()];
    }
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) sums[i][j] += x[i / 4u][i % 4u] * w[j];
    }
  }
}

// Fetches rows of a row-major `input` with `terms` elements, of a matrix that begins at element `first`. Rows past the
// end repeat the last; their results are not stored. Terms from `end` on are 0.
void fetch_rows(uint first, uint first_m, uint first_term, uint end, uint terms) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint row = min(first_m + staged_row(i), problem.m - 1u);
    const uint term = first_term + row_term(i);
    next_rows[i] = term < end ? load_real(first + row * terms + term) : 0.0;
  }
}
