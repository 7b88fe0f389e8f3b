// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/dynamic_plain.comp for an int4 weight, on int8 cooperative matrices. linear/dynamic_quantize.comp
// has quantized the activations.
//
// A workgroup computes a tile of outputs: lib/matrix_tile.glsl describes its loop over k. Weights become bytes, sixteen
// times as large, on their way into shared memory. Codes past the end of k are zero; rows past the last repeat it, and
// their results are not stored.
//
// Sums are int32 along a run, as in linear/dynamic_tiled.comp: a group, or 65,536 neighbours of a row without groups.
// It is whole spans of `step.span`; one step may have several. A run begins with the zero points' share, -z * sum w. So
// its end is the one rounding of (sum a * w - z * sum w) to a float, which is scaled and added to the total. Vulkan
// does not define which invocation holds which element of a matrix. So values of a row or a column are loaded as a
// matrix too, with a stride of 0: its columns or rows are equal.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare_words(codes, 4)}
${declare(scale)}
${declare(zero_point)}
${declare(weight_scales)}
${declare(weight_sums)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/real_elements.glsl" store_row
$include "lib/weight_rows.glsl" q4
$include "lib/linear_finish.glsl"

// A vector is sixteen bytes of a row. A load of the weight becomes several.
const uint kVectors = ${step.k} / 16u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"
const uint kSpan = ${step.span};
$include "lib/int8_matrix_product.glsl" matrices

const uint kRowLoads = ${step.k} / kPerLoad;
const uint kLoadVectors = kPerLoad / 16u;

uvec4 load_vector(uvec4 load, uint i) {
  const uvec2 words = uvec2(load[2u * i], load[2u * i + 1u]);
  return uvec4(weight_bytes(words.x, 0u), weight_bytes(words.x, 1u), weight_bytes(words.y, 0u),
               weight_bytes(words.y, 1u));
}

$include "lib/matrix_tile.glsl" weight

// Whether each span is a run. Then the loop over k has no branches: 512 x 14336 x 4096 takes 211 us on an H100, and 260
// if each span checks whether its run begins or ends.
const bool kSpansAreRuns = ${whole_steps} && ${short_run} == kSpan;
uint run_of(uint k) { return kSpansAreRuns ? k / kSpan : k / problem.run_k; }

// The columns' parameters for the run of each span.
const uint kSpans = ${step.k} / kSpan;
const uint kColumnFetches = (kColumns * kSpans + kInvocations - 1u) / kInvocations;
float next_scale[kColumnFetches];
int next_weight_sum[kColumnFetches];

shared vec4 column_scales[kColumnFetches * kInvocations / 4u];
shared ivec4 column_sums[kColumnFetches * kInvocations / 4u];
shared ivec4 row_zero_points[kRows / 4u];

coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> totals[${blocks.m}][${blocks.n}];

void fetch(uvec2 tile, uint k) {
  const uint vectors = (problem.k + 15u) / 16u;
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(tile.x + place / kVectors, problem.m - 1u);
    const uint vector = k / 16u + place % kVectors;
    next_input[i] = ${whole_steps} || vector < vectors ? codes_words[row * vectors + vector] : uvec4(0u);
  }
  fetch_weight(tile.y, k);
  [[unroll]] for (uint i = 0u; i < kColumnFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint column = min(tile.y + place % kColumns, problem.n - 1u);
    const uint run = min(run_of(k + place / kColumns % kSpans * kSpan), problem.runs - 1u);
    next_scale[i] = weight_scales_data[column * problem.groups + min(run, problem.groups - 1u)];
    next_weight_sum[i] = weight_sums_data[column * problem.runs + run];
  }
}

// Without a branch: loads past the last column go into padding.
void put_down_columns() {
  [[unroll]] for (uint i = 0u; i < kColumnFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    column_scales[place / 4u][place % 4u] = kByteFactor * next_scale[i];
    column_sums[place / 4u][place % 4u] = int(1.0 / kByteFactor) * next_weight_sum[i];
  }
}

void put_down_zero_points(uint first_m) {
  for (uint row = gl_LocalInvocationIndex; row < kRows; row += kInvocations) {
    row_zero_points[row / 4u][row % 4u] = -zero_point_data[min(first_m + row, problem.m - 1u)];
  }
}

void begin_run(uvec2 corner, uint span) {
  const uint first = span * kColumns + corner.y;
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> of_columns;
    coopMatLoad(of_columns, column_sums, (first + j * ${matrix.n}u) / 4u, 0u, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopMatLoad(sums[i][j], row_zero_points, (corner.x + i * ${matrix.m}u) / 4u, 0u,
                  gl_CooperativeMatrixLayoutColumnMajor);
      sums[i][j] = sums[i][j] * of_columns;
    }
  }
}

void end_run(uvec2 corner, uint span) {
  const uint first = span * kColumns + corner.y;
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> scales;
    coopMatLoad(scales, column_scales, (first + j * ${matrix.n}u) / 4u, 0u, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      totals[i][j] +=
          coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(sums[i][j]) * scales;
    }
  }
}

// ---- outputs --------------------------------------------------------------------------------------------------------

void put_block(uint i, uint j, uint word) {
  coopMatStore(totals[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

vec4 sums_at(uint word) { return uintBitsToFloat(tile_vector(word)); }

struct Columns { uint none; };  // which have no values in common

void store_outputs(uint row, uint column, vec4 sums, Columns columns) {
  store_row(row, column, finished_row(sums * scale_data[row], column));
}

$include "lib/matrix_strips.glsl"
$include "lib/matrix_strips.glsl" plain

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (problem.n + kColumns - 1u) / kColumns);
  if (workgroup_index() >= tiles.x * tiles.y) return;
  const uvec2 tile = tile_of(workgroup_index(), tiles) * uvec2(kRows, kColumns);
  const uvec2 corner = subgroup_corner();

  put_down_zero_points(tile.x);
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      totals[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  if (problem.k > 0u) fetch(tile, 0u);
  const uint last = (max(problem.k, 1u) - 1u) / ${step.k} * ${step.k};  // the last step is fetched again
  uint left = 0u;  // of the run
  for (uint k = 0u; k < problem.k; k += ${step.k}) {
    barrier();  // the matrices of the step before have been read
    put_down_weight();
    put_down_input();
    put_down_columns();
    barrier();
    fetch(tile, min(k + ${step.k}, last));
    for (uint span = 0u; span < kSpans; ++span) {
      if (kSpansAreRuns) {
        begin_run(corner, span);
        multiply(corner, span);
        end_run(corner, span);
        continue;
      }
      const uint end = k + span * kSpan + kSpan;
      if (left == 0u) {
        begin_run(corner, span);
        left = problem.run_k;
      }
      multiply(corner, span);
      left -= min(left, kSpan);
      if (left == 0u || end >= problem.k) end_run(corner, span);
      if (end >= problem.k) break;
    }
  }
  barrier();  // the last matrices have been read
  store_sums(tile + corner, 0u);
}
