// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of matmul/matmul_plain.comp on f16 cooperative matrices with f32 sums.
//
// A workgroup computes a tile of outputs: lib/matrix_tile.glsl describes its loop over k. Elements past the end of k
// count as zero in both matrices, since they may be infinite. Rows and columns past the last repeat it, and their
// results are not stored.
//
//   stage       whole: the tile's sum is finished and stored
//               slice: a workgroup stores the sum over one slice of k as output[slice, b, m, n]: sum_slices.comp
//                      finishes it
//   transposed  1: other is [b, n, k], and its rows lie in the tile as those of x do
//               0: other is [b, k, n]: the tile has a row for each k of the step
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare_words(input, 4)}
${declare_words(other, 4)}
$if stage == whole
${declare(bias)}
$end
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/real_elements.glsl" store_row
$if stage == whole
$include "lib/linear_finish.glsl"
$end
$include "lib/batch_matrices.glsl"

// A vector is eight halves of a row.
const uint kVectors = ${step} / 8u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"

const bool kIsTransposed = ${transposed} == 1;
$include "lib/fixed_sizes.glsl"
const uint kOtherVectors = kIsTransposed ? kVectors : kColumns / 8u;  // of a row of other in the tile
const uint kOtherPitch = (kOtherVectors + 1u) * kWords;
const uint kOtherCount = kColumns * kVectors;
const uint kOtherFetches = (kOtherCount + kInvocations - 1u) / kInvocations;
uvec4 next_other[kOtherFetches];

// Vector `vector` of row `row` of the tile's part of other.
uvec4 load_other(uint first, uint first_n, uint k, uint end, uint row, uint vector) {
  if (kIsTransposed) {
    const uint n = min(first_n + row, N_SIZE - 1u);
    const uint at = k / 8u + vector;
    return ${whole_steps} || at < end / 8u ? other_words[first / 8u + n * (K_SIZE / 8u) + at] : uvec4(0u);
  }
  const uint at = min(first_n / 8u + vector, N_SIZE / 8u - 1u);
  return ${whole_steps} || k + row < end ? other_words[first / 8u + (k + row) * (N_SIZE / 8u) + at] : uvec4(0u);
}

void fetch(uvec2 first, uvec2 tile, uint k, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(tile.x + place / kVectors, problem.m - 1u);
    const uint at = k / 8u + place % kVectors;
    next_input[i] = ${whole_steps} || at < end / 8u ? input_words[first.x / 8u + row * (K_SIZE / 8u) + at] : uvec4(0u);
  }
  [[unroll]] for (uint i = 0u; i < kOtherFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    next_other[i] = load_other(first.y, tile.y, k, end, place / kOtherVectors, place % kOtherVectors);
  }
}

void put_down_other() {
  [[unroll]] for (uint i = 0u; i < kOtherFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kOtherFetches * kInvocations == kOtherCount || place < kOtherCount) {
      put_vector(kWeightTile + place / kOtherVectors * kOtherPitch + place % kOtherVectors * kWords, next_other[i]);
    }
  }
}

coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

#define SUMS sums
#define LOAD_COLUMNS(w, k, word, column)                                                                      \
  if (kIsTransposed) {                                                                                        \
    coopMatLoad(w, tile_words, kWeightTile + (column) * kPitch + word, kPitch,                                \
                gl_CooperativeMatrixLayoutColumnMajor);                                                       \
  } else {                                                                                                    \
    coopMatLoad(w, tile_words, kWeightTile + k * ${matrix.k}u * kOtherPitch + (column) / 8u * kWords, kOtherPitch, \
                gl_CooperativeMatrixLayoutRowMajor);                                                          \
  }
$include "lib/matrix_tile.glsl" halves

// ---- outputs --------------------------------------------------------------------------------------------------------

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

vec4 sums_at(uint word) { return uintBitsToFloat(tile_vector(word)); }

struct Columns { uint none; };  // which have no values in common

// `row` counts through all slices and batches.
void store_outputs(uint row, uint column, vec4 sums, Columns columns) {
$if stage == whole
  sums = finished_row(sums, column);
$end
  store_row(row, column, sums);
}

$include "lib/matrix_strips.glsl"
$include "lib/matrix_strips.glsl" plain

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (N_SIZE + kColumns - 1u) / kColumns);
  const uint product = workgroup_index() / (tiles.x * tiles.y);  // of all slices and batches
  if (product >= problem.slices * problem.batches) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uvec2 first = matrices_of(product % problem.batches);
  const uvec2 corner = subgroup_corner();
$if stage == whole
  const uint begin = 0u, end = K_SIZE;
$else
  const uint begin = min(product / problem.batches * problem.slice_k, problem.k);
  const uint end = min(begin + problem.slice_k, problem.k);
$end

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  if (begin < end) fetch(first, tile, begin, end);
  for (uint k = begin; k < end; k += ${step}) {
    barrier();  // the matrices of the step before have been read
    put_down_input();
    put_down_other();
    barrier();
    if (k + ${step} < end) fetch(first, tile, k + ${step}, end);
    multiply(corner);
  }
  barrier();  // the last matrices have been read
  store_sums(tile + corner, product * problem.m);
}
