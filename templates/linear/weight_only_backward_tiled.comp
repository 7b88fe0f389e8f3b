// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_backward_plain.comp, by tiles. A tile has 16 x 16 invocations and 16 * side rows and
// columns; each invocation computes `side` of each. Sixteen n at a time, a workgroup stages the rows and the
// dequantized weights in shared memory as f32. A 32-bit word of the weight is eight neighbours along k, and so along a
// staged row: it is read once per tile, and becomes two vec4s.
//
// A workgroup makes the sum over one slice of n, output[slice, m, k]. If there are few tiles, several slices fill the
// device; sum_slices.comp adds them.
$require side % 4 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input)}
${declare(weight_scales)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/weight_rows.glsl" q4
$include "lib/square_tile.glsl"
$include "lib/staged_product.glsl"
$include "lib/tile_order.glsl"

const uint kTileWords = kTile / kPerWord;  // of a row of the weight

uint next_word;
float next_scale;

// The elements that this invocation stages; past the last step it stages none.
uint own_term() { return gl_LocalInvocationIndex / kTileWords; }
uint own_word() { return gl_LocalInvocationIndex % kTileWords; }

// Words past the end of a row repeat its last; their results are not stored. Weights from `end` on are 0.
void fetch(uint first_m, uint first_k, uint n, uint end) {
  fetch_rows(0u, first_m, n, end, problem.n);
  const uint row = min(n + own_term(), end - 1u);
  const uint word = min(first_k / kPerWord + own_word(), 4u * loads_per_row() - 1u);
  const uint group = min(word * kPerWord / problem.group_size, problem.groups - 1u);
  next_word = weight_words[4u * row * loads_per_row() + word];
  next_scale = n + own_term() < end ? weight_scales_data[row * problem.groups + group] : 0.0;
}

void stage_fetched() {
  stage_rows();
  if (own_term() >= kStep) return;
  const vec4 low = weight_quad(next_word, 0u) * kQuadScale * next_scale;   // of elements 0, 4, 1, 5
  const vec4 high = weight_quad(next_word, 1u) * kQuadScale * next_scale;  // 2, 6, 3, 7
  const uint at = (own_term() * kStride + own_word() * kPerWord) / 4u;
  staged_columns[at] = vec4(low.xz, high.xz);
  staged_columns[at + 1u] = vec4(low.yw, high.yw);
}

void store_sums(uint first_m, uint first_k, uint slice) {
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    const uint m = row_at(first_m, i);
    [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
      const uint k = column_at(first_k, j);
      if (m < problem.m && k < problem.k) {
        store_real((slice * problem.m + m) * problem.k + k, sums[i][j / 4u][j % 4u]);
      }
    }
  }
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.k) + kTile - 1u) / kTile;
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles);
  const uint first_m = tile.x * kTile;
  const uint first_k = tile.y * kTile;
  const uint begin = min(slice * problem.slice_n, problem.n);
  const uint end = min(begin + problem.slice_n, problem.n);

  clear_sums();
  if (begin < end) fetch(first_m, first_k, begin, end);
  for (uint n = begin; n < end; n += kStep) {
    barrier();
    stage_fetched();
    barrier();
    if (n + kStep < end) fetch(first_m, first_k, n + kStep, end);
    multiply_staged();
  }
  store_sums(first_m, first_k, slice);
}
