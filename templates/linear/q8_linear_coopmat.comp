// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y[m, n] = sum over k of x[m, k] * w[n, k] in int8, on cooperative matrices.
//
// A workgroup makes a tile of outputs: lib/matrix_tile.glsl says how it walks along k. What lies outside of x and w
// counts as zero.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
$if output_dtype == i32
${declare(output, 4)}
$else
${declare(output)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/linear_input.glsl"
$if output_dtype == i32
$include "lib/linear_partial.glsl"
$else
$include "lib/linear_epilogue.glsl"
$end

const uint kVectors = ${step} / 16u;
$include "lib/matrix_tile.glsl"
const uint kSpan = ${step};
$include "lib/int8_matrices.glsl"

const uint kWeightFetches = (kColumns * kVectors + kInvocations - 1u) / kInvocations;
uvec4 next_weight[kWeightFetches];

uvec4 load_input(uint row, uint vector, uint end) {
  return row < problem.m && vector < end ? input_vector(row, vector) : uvec4(0u);
}

uvec4 load_weight(uint column, uint vector, uint end) {
  return column < problem.n && vector < end ? weight_words[column * ((problem.k + 15u) / 16u) + vector] : uvec4(0u);
}

void fetch(uvec2 tile, uint vector, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    next_input[i] = load_input(tile.x + place / kVectors, vector + place % kVectors, end);
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

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (problem.n + kColumns - 1u) / kColumns);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uint begin = slice * (problem.slice_k / 16u);
  const uint end = min(begin + problem.slice_k / 16u, (problem.k + 15u) / 16u);
  const uvec2 corner = subgroup_corner();

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
  fetch(tile, begin, end);
  for (uint at = begin; at < end; at += kVectors) {
    barrier();  // the matrices of the step before have been read
    put_down_input();
    put_down_weight();
    barrier();
    if (at + kVectors < end) fetch(tile, at + kVectors, end);
    multiply(corner, 0u);
  }
  barrier();  // the last matrices have been read
  store_sums(tile + corner, slice * problem.m);
}
