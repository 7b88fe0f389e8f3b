// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An f16 convolution with an integer weight on cooperative matrices: an implicit im2col product with f32 sums.
// lib/conv_rows.glsl finds the rows of the im2col matrix; lib/matrix_tile.glsl has the loop over k.
//
// A workgroup stores the sums over one slice of k as output[slice, pixel, n], scaled: conv_real_finish.comp adds them
// up.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare_bits(input)}
${declare(weight_scales)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/weight_rows.glsl" q8
$include "lib/conv_input.glsl" bounds
$include "lib/conv_rows.glsl" pixels

// A vector is eight halves of a row. A load of the weight becomes two.
const uint kVectors = ${step} / 8u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"

const uint kUnits = kVectors;
const uint kFetches = kInputFetches;
$include "lib/conv_rows.glsl" halves

void begin_tap(uint unit) { tap = tap_of(unit + gl_LocalInvocationIndex % kUnits); }


const uint kRowLoads = ${step} / kPerLoad;
const uint kLoadVectors = kPerLoad / 8u;
$include "lib/weight_rows.glsl" halves
uvec4 load_vector(uvec4 load, uint i) { return q8_halves(load, i); }
$include "lib/matrix_tile.glsl" weight

void fetch(uint first_n, uint k, uint end) {
  const bool is_read = k / 8u + gl_LocalInvocationIndex % kUnits < end / 8u;
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) next_input[i] = row_unit(i, is_read);
  fetch_weight(first_n, k);
}

coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

#define SUMS sums
#define LOAD_COLUMNS(w, k, word, column) \
  coopMatLoad(w, tile_words, kWeightTile + (column) * kPitch + word, kPitch, gl_CooperativeMatrixLayoutColumnMajor)
$include "lib/matrix_tile.glsl" halves

// ---- outputs --------------------------------------------------------------------------------------------------------

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

$include "lib/matrix_strips.glsl" column_scales
$include "lib/real_elements.glsl" store_row

// `row` counts through all slices.
void store_outputs(uint row, uint column, vec4 sums, Columns columns) {
  store_row(row, column, sums * columns.scale);
}

vec4 sums_at(uint word) { return uintBitsToFloat(tile_vector(word)); }

$include "lib/matrix_strips.glsl"
$include "lib/matrix_strips.glsl" plain

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (problem.n + kColumns - 1u) / kColumns);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uvec2 corner = subgroup_corner();
  const uint row_end = 8u * units_of_a_row();
  const uint begin = min(slice * problem.slice_k, row_end);
  const uint end = min(begin + problem.slice_k, row_end);

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  begin_part();
  begin_rows(tile.x, begin / 8u);
  if (begin < end) fetch(tile.y, begin, end);
  for (uint k = begin; k < end; k += ${step}) {
    barrier();  // the matrices of the step before have been read
    put_down_input();
    put_down_weight();
    barrier();
    next_step();
    if (k + ${step} < end) fetch(tile.y, k + ${step}, end);
    multiply(corner);
  }
  barrier();  // the last matrices have been read
  store_sums(tile + corner, slice * problem.m);
}
