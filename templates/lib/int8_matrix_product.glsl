// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tile of int8 outputs on cooperative matrices, from its rows of x and w. lib/matrix_tile.glsl has the loop over k.
// Values outside x and w, or from vector `end` on, count as zero.
$needs bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }  // of a matrix [m, n]
$needs const uint kVectors
$needs void load_columns(uint first) {}  // what the outputs of a column have in common: lib/tile_columns.glsl
$needs uvec4 load_input(uint i, uint row, uint vector, uint end)  // 16 bytes of a row of x, this invocation's i-th
$needs uvec4 load_weight(uint column, uint vector, uint end)        // of a row of w
$needs void next_step() {}  // between the loads of two steps, of which an invocation has one vector
$needs void put_columns() {}
$needs void put_input() { put_down_input(); }
$gives const uint kSpan
$gives void put_block(uint i, uint j, uint word)
$gives ivec4 sums_at(uint word)
$gives void make_tile(uvec2 tile, uint begin, uint end, uint row_offset)

const uint kSpan = ${step};
$include "lib/int8_matrices.glsl"

const uint kWeightFetches = (kColumns * kVectors + kInvocations - 1u) / kInvocations;
uvec4 next_weight[kWeightFetches];

void fetch(uvec2 tile, uint vector, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uvec2 place = input_place(i);
    next_input[i] = load_input(i, tile.x + place.x, vector + place.y, end);
  }
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    next_weight[i] = load_weight(tile.y + place / kVectors, vector + place % kVectors, end);
  }
}

void put_down_weight() {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kWeightFetches * kInvocations == kColumns * kVectors || place < kColumns * kVectors) {
      put_vector(kWeightTile + word_of(place), next_weight[i]);
    }
  }
}

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

ivec4 sums_at(uint word) { return ivec4(tile_vector(word)); }

$include "lib/matrix_strips.glsl"
$if output_dtype == i8
$include "lib/int8_strips.glsl"
$else
$include "lib/plain_strips.glsl"
$end

// Vectors begin to end of the rows and columns from `tile` on; rows of outputs are stored `row_offset` further on.
//
// Outputs wait for the parameters of columns, and some for a residual. A residual is loaded in a branch of the last
// round: after the loop the compiler moves its loads past the products (64 -> 256 channels of 128 images: 166 us, and
// 176 there, on an H200). Without one the last products come after the loop, and columns are loaded with them, into
// registers that held the next step (256 -> 256, 3x3: 72 -> 66 us).
void make_tile(uvec2 tile, uint begin, uint end, uint row_offset) {
  const uvec2 corner = subgroup_corner();
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
  fetch(tile, begin, end);
  if (kFetchesInLastRound) {
    load_columns(tile.y);
    put_columns();
  }
  uint at = begin;
  do {  // once where there is nothing to add, too
    barrier();  // the matrices of the step before have been read
    put_input();
    put_down_weight();
    barrier();
    at += kVectors;
    if (!kFetchesInLastRound && at >= end) break;
    next_step();  // before the loads: a loop after them would wait for their data before it multiplies
    if (at < end) {
      fetch(tile, at, end);
    } else {
      begin_outputs(tile + corner, row_offset);
    }
    multiply(corner, 0u);
  } while (at < end);
  if (!kFetchesInLastRound) {
    load_columns(tile.y);
    multiply(corner, 0u);
    put_columns();
  }
  barrier();  // the last matrices have been read
  store_sums(tile + corner, row_offset);
}
