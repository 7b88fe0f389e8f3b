// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The product of fused/bmm_plain.comp, by tiles. A tile has 16 x 16 invocations and 16 * side rows and columns; each
// invocation computes `side` of each. 32 bytes along k at a time, a workgroup stages both operands in shared memory, in
// 32-bit words of four neighbours along k. Meanwhile it fetches the next bytes into registers. The rows of `other` run
// along n: four 32-bit words of four rows are transposed when they are staged.
//
// The zero points are multiplied by sums of rows and columns. Each invocation adds up the elements that it stages,
// which always belong to one row or to the same columns.
//
// Sums of products are int32: up to k = 131,072 they are above -2^31 and at most 2^31, so that -2^31 can only mean
// 2^31. They go through shared memory once more, so that neighbours store neighbours, and the code that finishes one
// stands there once.
$require side % 4 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
${local_size(256)}
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
${declare_words(input)}
${declare_words(other)}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/bmm_matrices.glsl" wide
$include "lib/bmm_matrices.glsl" bytes
$include "lib/bmm_matrices.glsl"
$include "lib/bmm_matrices.glsl" finish
$include "lib/dot4.glsl"
$include "lib/square_tile.glsl"
$include "lib/tile_order.glsl"

const uint kStep = 32u;
const uint kStepWords = kStep / 4u;
const uint kOnes = 0x01010101u;
const uint kInputs = kTile * kStepWords / kInvocations;  // words that an invocation fetches of a stage of `input`
const uint kColumnQuads = kTile / 4u;

shared uvec4 staged_input[kStepWords * kStride / 4u];  // [word][row]
shared uvec4 staged_other[kStepWords * kStride / 4u];  // [word][column]
shared int staged_sums[kTile * kTile];  // [row][column]
shared int row_sums[kTile];
shared int column_sums[kTile];

uint next_inputs[kInputs];
uvec4 next_others;  // a row each
int sums_of_inputs[kInputs];
ivec4 sums_of_others;

// Past the ends are zeros, which add nothing.
uint input_word(uint row, uint k) {
  if (k >= problem.k) return 0u;
  if (problem.k % 4u == 0u) return input_words[(row + k) / 4u] ^ problem.input_flip * kOnes;
  ivec4 bytes = ivec4(0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (k + i < problem.k) bytes[i] = input_integer(row + k + i);
  }
  return pack_i8(bytes);
}

uint other_word(uint first, uint k, uint n) {
  if (k >= problem.k || n >= problem.n) return 0u;
  const uint at = first + k * problem.n + n;
  if (problem.n % 4u == 0u) return other_words[at / 4u] ^ problem.other_flip * kOnes;
  ivec4 bytes = ivec4(0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (n + i < problem.n) bytes[i] = other_integer(at + i);
  }
  return pack_i8(bytes);
}

// Which four columns and which word along k this invocation stages of `other`; past the last word it stages nothing.
uint own_column() { return 4u * (gl_LocalInvocationIndex % kColumnQuads); }
uint own_word() { return gl_LocalInvocationIndex / kColumnQuads; }

void fetch(Matrices at, uint first_m, uint first_n, uint k) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint m = min(first_m + place / kStepWords, problem.m - 1u);  // rows past the end are not stored
    next_inputs[i] = input_word(at.input_first + m * problem.k, k + 4u * (place % kStepWords));
  }
  if (own_word() >= kStepWords) return;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    next_others[i] = other_word(at.other_first, k + 4u * own_word() + i, first_n + own_column());
  }
}

$include "lib/packed_tile.glsl" transposed

void stage_fetched() {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = place / kStepWords;
    staged_input[(place % kStepWords * kStride + row) / 4u][row % 4u] = next_inputs[i];
    sums_of_inputs[i] += dot4(next_inputs[i], kOnes);
  }
  if (own_word() >= kStepWords) return;
  const uvec4 columns = transposed(next_others);
  staged_other[(own_word() * kStride + own_column()) / 4u] = columns;
  [[unroll]] for (uint j = 0u; j < 4u; ++j) sums_of_others[j] += dot4(columns[j], kOnes);
}

ivec4 sums[${side}][kTileQuads];  // [row][quad of columns]

void multiply_staged() {
  for (uint word = 0u; word < kStepWords; ++word) {
    uvec4 a[kTileQuads];
    uvec4 b[kTileQuads];
    [[unroll]] for (uint i = 0u; i < kTileQuads; ++i) {
      a[i] = staged_input[word * (kStride / 4u) + i * kSide + place_m()];
      b[i] = staged_other[word * (kStride / 4u) + i * kSide + place_n()];
    }
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
        sums[i][j / 4u][j % 4u] += dot4(a[i / 4u][i % 4u], b[j / 4u][j % 4u]);
      }
    }
  }
}

void clear_sums() {
  for (uint i = gl_LocalInvocationIndex; i < kTile; i += kInvocations) {
    row_sums[i] = 0;
    column_sums[i] = 0;
  }
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) sums_of_inputs[i] = 0;
  sums_of_others = ivec4(0);
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) sums[i][j] = ivec4(0);
  }
}

void share_sums() {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    atomicAdd(row_sums[(gl_LocalInvocationIndex + i * kInvocations) / kStepWords], sums_of_inputs[i]);
  }
  if (own_word() < kStepWords) {
    [[unroll]] for (uint j = 0u; j < 4u; ++j) atomicAdd(column_sums[own_column() + j], sums_of_others[j]);
  }
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
      staged_sums[row_at(0u, i) * kTile + column_at(0u, j)] = sums[i][j / 4u][j % 4u];
    }
  }
  barrier();
}

uvec2 widened_sum(int sum) { return uvec2(uint(sum), uint(sum) > 0x80000000u ? 0xffffffffu : 0u); }

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  const uint batch = workgroup_index() / (tiles.x * tiles.y);
  if (batch >= problem.batches) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles);
  const uint first_m = tile.x * kTile;
  const uint first_n = tile.y * kTile;
  const Matrices at = matrices_of(batch);

  clear_sums();
  fetch(at, first_m, first_n, 0u);
  const uint end = problem.k;
  for (uint k = 0u; k < end; k += kStep) {
    barrier();
    stage_fetched();
    barrier();
    if (k + kStep < end) fetch(at, first_m, first_n, k + kStep);
    multiply_staged();
  }
  share_sums();
  for (uint i = gl_LocalInvocationIndex; i < kTile * kTile; i += kInvocations) {
    const uint row = i / kTile;
    const uint column = i % kTile;
    if (first_m + row >= problem.m || first_n + column >= problem.n) continue;
    finish(at, batch, first_m + row, first_n + column, widened_sum(staged_sums[i]), widened(row_sums[row]),
           widened(column_sums[column]));
  }
}
