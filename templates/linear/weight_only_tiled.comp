// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp, by tiles. A tile has 16 x 16 invocations and 16 * side rows and columns;
// each invocation computes `side` of each. Sixteen k at a time, a workgroup stages the activations and the dequantized
// weights in shared memory as f32. Meanwhile it fetches the next ones into registers.
//
//   stage   whole: the tile's sum is finished and stored
//           slice: k is cut into slices, and a workgroup stores the sum over one as output[slice, m, n], which
//                  sum_slices.comp finishes. Where there are few tiles, slices are what fills the device
$require side % 4 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input)}
${declare(weight_scales)}
$if stage == whole
${declare(bias)}
$end
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/weight_rows.glsl" form
$if stage == whole
$include "lib/linear_finish.glsl"
$end
$include "lib/square_tile.glsl"
$include "lib/staged_product.glsl"
$include "lib/tile_order.glsl"

const uint kWordsPerStep = kStep / kPerWord;
const uint kWords = (kTile * kWordsPerStep + kInvocations - 1u) / kInvocations;

uint next_words[kWords];
float next_scales[kWords];

uint word_in_step(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) % kWordsPerStep; }
uint weight_row(uint i) { return (gl_LocalInvocationIndex + i * kInvocations) / kWordsPerStep; }

// Rows past the end repeat the last; their results are not stored.
void fetch(uint first_m, uint first_n, uint k, uint end) {
  fetch_rows(0u, first_m, k, end, problem.k);
  [[unroll]] for (uint i = 0u; i < kWords; ++i) {
    const uint row = min(first_n + weight_row(i), problem.n - 1u);
    const uint word = k / kPerWord + word_in_step(i);
    next_words[i] = weight_words[4u * row * loads_per_row() + min(word, 4u * loads_per_row() - 1u)];
    const uint group = min(word * kPerWord / problem.group_size, problem.groups - 1u);
    next_scales[i] = weight_scales_data[row * problem.groups + group];
  }
}

void stage_fetched() {
  stage_rows();
  [[unroll]] for (uint i = 0u; i < kWords; ++i) {
    if (weight_row(i) >= kTile) continue;
    [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) {
      const vec4 w = weight_quad(next_words[i], quad) * kQuadScale * next_scales[i];
      [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        const uint k = word_in_step(i) * kPerWord + quad_element(quad, lane);
        const uint at = k * kStride + weight_row(i);
        staged_columns[at / 4u][at % 4u] = w[lane];
      }
    }
  }
}

void store_sums(uint first_m, uint first_n, uint slice) {
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    const uint m = row_at(first_m, i);
    [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
      const uint n = column_at(first_n, j);
      if (m >= problem.m || n >= problem.n) continue;
$if stage == whole
      store_real(m * problem.n + n, finished(sums[i][j / 4u][j % 4u], n));
$else
      store_real((slice * problem.m + m) * problem.n + n, sums[i][j / 4u][j % 4u]);
$end
    }
  }
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles);
  const uint first_m = tile.x * kTile;
  const uint first_n = tile.y * kTile;
  const uint begin = min(slice * problem.slice_k, problem.k);
  const uint end = min(begin + problem.slice_k, problem.k);

  clear_sums();
  if (begin < end) fetch(first_m, first_n, begin, end);
  for (uint k = begin; k < end; k += kStep) {
    barrier();
    stage_fetched();
    barrier();
    if (k + kStep < end) fetch(first_m, first_n, k + kStep, end);
    multiply_staged();
  }
  store_sums(first_m, first_n, slice);
}
