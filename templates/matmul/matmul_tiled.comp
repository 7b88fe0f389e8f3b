// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of matmul/matmul_plain.comp, by tiles. A tile has 16 x 16 invocations and 16 * side rows and columns; each
// invocation computes `side` of each. Sixteen k at a time, a workgroup stages both matrices in shared memory as f32.
// Meanwhile it fetches the next ones into registers.
//
//   stage   whole: the tile's sum is finished and stored
//           slice: k is cut into slices, and a workgroup stores the sum over one as output[slice, b, m, n], which
//                  linear/sum_slices.comp finishes. Where there are few tiles, slices are what fills the device
$require side % 4 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input)}
${declare(other)}
$if stage == whole
${declare(bias)}
$end
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" load_other
$include "lib/real_elements.glsl" store
$if stage == whole
$include "lib/linear_finish.glsl"
$end
$include "lib/batch_matrices.glsl"
$include "lib/square_tile.glsl"
$include "lib/staged_product.glsl"
$include "lib/tile_order.glsl"

float next_other[kInputs];

// The term and the column that this invocation stages: neighbours load neighbours, along k for [n, k], else along n.
uvec2 other_place(uint i) {
  const uint place = gl_LocalInvocationIndex + i * kInvocations;
  return problem.transpose_other != 0u ? uvec2(place % kStep, place / kStep) : uvec2(place / kTile, place % kTile);
}

// Columns past the end repeat the last; their results are not stored. Terms from `end` on are 0 in both matrices: the
// memory there may hold infinities.
void fetch(uvec2 first, uint first_m, uint first_n, uint k, uint end) {
  fetch_rows(first.x, first_m, k, end, problem.k);
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uvec2 place = other_place(i);
    const uint term = k + place.x;
    const uint n = min(first_n + place.y, problem.n - 1u);
    const uint at = problem.transpose_other != 0u ? n * problem.k + term : term * problem.n + n;
    next_other[i] = term < end ? load_other(first.y + at) : 0.0;
  }
}

void stage_fetched() {
  stage_rows();
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    const uvec2 place = other_place(i);
    const uint at = place.x * kStride + place.y;
    staged_columns[at / 4u][at % 4u] = next_other[i];
  }
}

// `row_offset`: of the slice's and the batch's rows.
void store_sums(uint first_m, uint first_n, uint row_offset) {
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    const uint m = row_at(first_m, i);
    [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
      const uint n = column_at(first_n, j);
      if (m >= problem.m || n >= problem.n) continue;
      const float sum = sums[i][j / 4u][j % 4u];
$if stage == whole
      store_real((row_offset + m) * problem.n + n, finished(sum, n));
$else
      store_real((row_offset + m) * problem.n + n, sum);
$end
    }
  }
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  const uint product = workgroup_index() / (tiles.x * tiles.y);  // of all slices and batches
  if (product >= problem.slices * problem.batches) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles);
  const uvec2 first = matrices_of(product % problem.batches);
  const uint first_m = tile.x * kTile;
  const uint first_n = tile.y * kTile;
  const uint begin = min(product / problem.batches * problem.slice_k, problem.k);
  const uint end = min(begin + problem.slice_k, problem.k);

  clear_sums();
  if (begin < end) fetch(first, first_m, first_n, begin, end);
  for (uint k = begin; k < end; k += kStep) {
    barrier();
    stage_fetched();
    barrier();
    if (k + kStep < end) fetch(first, first_m, first_n, k + kStep, end);
    multiply_staged();
  }
  store_sums(first_m, first_n, product * problem.m);
}
