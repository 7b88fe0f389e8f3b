// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp, by tiles. linear/dynamic_quantize.comp has quantized the activations. A tile
// has 16 x 16 invocations and 16 * side rows and columns; each invocation computes `side` of each. step_k bytes along k
// at a time, a workgroup stages both operands in shared memory, in 32-bit words. Meanwhile it fetches the next bytes
// into registers.
//
// Sums are int32 along a run, which is a group, or 65,536 neighbours of a row without groups: |sum| < 2^31 there. At
// its end they become floats: (sum a * w - z * sum w) * s * weight_scale.
//
// Both staged tiles are [word][row], so that an invocation reads its rows as uvec4s.
$require side % 4 == 0 and step_k % 16 == 0
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
${local_size(256)}
layout(set = 0, binding = 0, std430) readonly restrict buffer CodeWords { uint code_words[]; };
${declare(scale)}
${declare(zero_point)}
${declare(weight_scales)}
${declare(weight_sums)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" form
$include "lib/dot4.glsl"
$include "lib/square_tile.glsl"
$include "lib/tile_order.glsl"

const uint kStepWords = ${step_k} / 4u;  // of four bytes, in a row of a stage
const uint kBytesWords = kPerWord / 4u;                  // words of bytes that a word of the weight becomes
const uint kWeightWords = kStepWords / kBytesWords;      // of the weight, in a row of a stage
const uint kCodes = (kTile * kStepWords + kInvocations - 1u) / kInvocations;  // an invocation fetches of a stage
const uint kWeights = (kTile * kWeightWords + kInvocations - 1u) / kInvocations;

shared uvec4 staged_codes[kStepWords * kStride / 4u];
shared uvec4 staged_weight[kStepWords * kStride / 4u];

uint next_codes[kCodes];
uint next_weights[kWeights];

uint code_words_per_row() { return (problem.k + 15u) / 16u * 4u; }

// Rows past the end repeat the last, and their results are not stored; words past the end are 0.
void fetch(uint first_m, uint first_n, uint k) {
  [[unroll]] for (uint i = 0u; i < kCodes; ++i) {
    const uint at = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(first_m + at / kStepWords, problem.m - 1u);
    const uint word = k / 4u + at % kStepWords;
    next_codes[i] = word < code_words_per_row() ? code_words[row * code_words_per_row() + word] : 0u;
  }
  [[unroll]] for (uint i = 0u; i < kWeights; ++i) {
    const uint at = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(first_n + at / kWeightWords, problem.n - 1u);
    const uint word = min(k / kPerWord + at % kWeightWords, 4u * loads_per_row() - 1u);
    next_weights[i] = weight_words[4u * row * loads_per_row() + word];
  }
}

void stage_fetched() {
  [[unroll]] for (uint i = 0u; i < kCodes; ++i) {
    const uint at = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = at / kStepWords;
    if (row < kTile) staged_codes[(at % kStepWords * kStride + row) / 4u][row % 4u] = next_codes[i];
  }
  [[unroll]] for (uint i = 0u; i < kWeights; ++i) {
    const uint at = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = at / kWeightWords;
    if (row < kTile) {
      [[unroll]] for (uint part = 0u; part < kBytesWords; ++part) {
        const uint word = at % kWeightWords * kBytesWords + part;
        staged_weight[(word * kStride + row) / 4u][row % 4u] = weight_bytes(next_weights[i], part);
      }
    }
  }
}

ivec4 run_sums[${side}][kTileQuads];  // [row][quad of columns]
vec4 sums[${side}][kTileQuads];
float row_scales[${side}];
int row_zero_points[${side}];

void multiply_staged() {
  for (uint word = 0u; word < kStepWords; ++word) {
    uvec4 a[kTileQuads];
    uvec4 w[kTileQuads];
    [[unroll]] for (uint i = 0u; i < kTileQuads; ++i) {
      a[i] = staged_codes[word * (kStride / 4u) + i * kSide + place_m()];
      w[i] = staged_weight[word * (kStride / 4u) + i * kSide + place_n()];
    }
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
        run_sums[i][j / 4u][j % 4u] += dot4(a[i / 4u][i % 4u], w[j / 4u][j % 4u]);
      }
    }
  }
}

void finish_run(uint first_n, uint run) {
  const uint group = min(run, problem.groups - 1u);
  [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
    const uint n = min(column_at(first_n, j), problem.n - 1u);
    const float scale = weight_scales_data[n * problem.groups + group];
    const int weight_sum = weight_sums_data[n * problem.runs + run] * int(1.0 / kByteFactor);
    [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
      const int sum = run_sums[i][j / 4u][j % 4u] - row_zero_points[i] * weight_sum;
      sums[i][j / 4u][j % 4u] += float(sum) * (kByteFactor * scale);
      run_sums[i][j / 4u][j % 4u] = 0;
    }
  }
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  if (workgroup_index() >= tiles.x * tiles.y) return;
  const uvec2 tile = tile_of(workgroup_index(), tiles);
  const uint first_m = tile.x * kTile;
  const uint first_n = tile.y * kTile;

  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    const uint m = min(row_at(first_m, i), problem.m - 1u);
    row_scales[i] = scale_data[m];
    row_zero_points[i] = zero_point_data[m];
    [[unroll]] for (uint j = 0u; j < kTileQuads; ++j) {
      run_sums[i][j] = ivec4(0);
      sums[i][j] = vec4(0.0);
    }
  }
  if (problem.k > 0u) fetch(first_m, first_n, 0u);
  for (uint k = 0u; k < problem.k; k += ${step_k}) {
    barrier();
    stage_fetched();
    barrier();
    if (k + ${step_k} < problem.k) fetch(first_m, first_n, k + ${step_k});
    multiply_staged();
    if ((k + ${step_k}) % problem.run_k == 0u || k + ${step_k} >= problem.k) finish_run(first_n, k / problem.run_k);
  }
  [[unroll]] for (uint i = 0u; i < ${side}; ++i) {
    const uint m = row_at(first_m, i);
    [[unroll]] for (uint j = 0u; j < ${side}; ++j) {
      const uint n = column_at(first_n, j);
      if (m < problem.m && n < problem.n) {
        store_real(m * problem.n + n, finished(sums[i][j / 4u][j % 4u] * row_scales[i], n));
      }
    }
  }
}
