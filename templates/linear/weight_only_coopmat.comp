// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp on f16 cooperative matrices with f32 sums. Integer weights of eight bits are
// exact in f16.
//
// A workgroup computes a tile of outputs: lib/matrix_tile.glsl describes its loop over k. Weights become halves on
// their way into shared memory. Elements past the end of k count as zero; rows past the last repeat it, and their
// results are not stored.
//
//   form    weight_q8_rows: a column's scale is applied to its sum
//           weight_q4_rows: sums of a chunk of k are scaled before they are added up. A chunk is one step or two, and
//                           lies in one group. Vulkan does not define which invocation holds which element, so the
//                           scales come as a matrix too, whose rows are equal
//   stage   whole: the tile's sum is finished and stored
//           slice: a workgroup stores the sum over one slice of k as output[slice, m, n]: sum_slices.comp finishes it
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare_words(input, 4)}
${declare(weight_scales)}
$if stage == whole
${declare(bias)}
$end
${declare(output)}
${declare_problem()}
$if form == weight_q8_rows
$include "lib/fixed_sizes.glsl"
$end
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/real_elements.glsl" store_row
$include "lib/weight_rows.glsl" form
$if stage == whole
$include "lib/linear_finish.glsl"
$end

// A vector is eight halves of a row. A load of the weight becomes several.
const uint kVectors = ${step} / 8u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"

const uint kRowLoads = ${step} / kPerLoad;
const uint kLoadVectors = kPerLoad / 8u;

$include "lib/weight_rows.glsl" halves
$if form == weight_q4_rows
uvec4 load_vector(uvec4 load, uint i) { return q4_halves(load, i); }
$else
uvec4 load_vector(uvec4 load, uint i) { return q8_halves(load, i); }
$end

$include "lib/matrix_tile.glsl" weight

$if form == weight_q4_rows
// Chunks of two steps, in a loop without branches: 512 x 14336 x 4096 takes 302 us on an H100, and 384 if each step
// checks whether its group begins or ends.
const uint kChunkSteps = ${whole_chunks} ? 2u : 1u;

const uint kScaleFetches = (kColumns + kInvocations - 1u) / kInvocations;
float next_scale[kScaleFetches];

uint group_of(uint k) { return problem.groups > 1u ? k / problem.group_size : 0u; }

void fetch_scales(uint first_n, uint k) {
  [[unroll]] for (uint i = 0u; i < kScaleFetches; ++i) {
    const uint column = min(first_n + (gl_LocalInvocationIndex + i * kInvocations) % kColumns, problem.n - 1u);
    next_scale[i] = weight_scales_data[column * problem.groups + group_of(k)];
  }
}
$end

void fetch(uvec2 tile, uint k, uint end) {
  fetch_weight(tile.y, k);
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(tile.x + place / kVectors, problem.m - 1u);
    const uint at = k / 8u + place % kVectors;
    next_input[i] = ${whole_steps} || at < end / 8u ? input_words[row * (K_SIZE / 8u) + at] : uvec4(0u);
  }
$if form == weight_q4_rows
  fetch_scales(tile.y, k);
$end
}

coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

$if form == weight_q4_rows
coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> of_chunk[${blocks.m}][${blocks.n}];
shared vec4 column_scales[kScaleFetches * kInvocations / 4u];

void put_down_scales() {
  [[unroll]] for (uint i = 0u; i < kScaleFetches; ++i) {
    const uint column = gl_LocalInvocationIndex + i * kInvocations;  // past the last: padding
    column_scales[column / 4u][column % 4u] = next_scale[i];
  }
}

void begin_chunk() {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      of_chunk[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
}

void end_chunk(uint corner_n) {
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> scales;
    coopMatLoad(scales, column_scales, (corner_n + j * ${matrix.n}u) / 4u, 0u, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) sums[i][j] += of_chunk[i][j] * scales;
  }
}
$end

$if form == weight_q4_rows
#define SUMS of_chunk
$else
#define SUMS sums
$end
#define LOAD_COLUMNS(w, k, word, column) \
  coopMatLoad(w, tile_words, kWeightTile + (column) * kPitch + word, kPitch, gl_CooperativeMatrixLayoutColumnMajor)
$include "lib/matrix_tile.glsl" halves

// ---- outputs --------------------------------------------------------------------------------------------------------

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

vec4 sums_at(uint word) { return uintBitsToFloat(tile_vector(word)); }

$if form == weight_q8_rows
$include "lib/matrix_strips.glsl" column_scales
$else
struct Columns { uint none; };  // which have no values in common
$end

// `row` counts through all slices.
void store_outputs(uint row, uint column, vec4 sums, Columns columns) {
$if form == weight_q8_rows
  sums *= columns.scale;
$end
$if stage == whole
  sums = finished_row(sums, column);
$end
  store_row(row, column, sums);
}

$include "lib/matrix_strips.glsl"
$include "lib/matrix_strips.glsl" plain

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (N_SIZE + kColumns - 1u) / kColumns);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uvec2 corner = subgroup_corner();
$if stage == whole
  const uint begin = 0u, end = K_SIZE;
$else
  const uint begin = min(slice * problem.slice_k, problem.k);
  const uint end = min(begin + problem.slice_k, problem.k);
$end

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  if (begin < end) fetch(tile, begin, end);
$if form == weight_q4_rows
  const uint last = begin + (max(end, begin + 1u) - begin - 1u) / ${step} * ${step};  // the last step is fetched again
  for (uint first_k = begin; first_k < end; first_k += kChunkSteps * ${step}) {
    begin_chunk();
    [[unroll]] for (uint i = 0u; i < kChunkSteps; ++i) {
      barrier();  // the matrices of the step before have been read
      put_down_input();
      put_down_weight();
      if (i == 0u) put_down_scales();
      barrier();
      fetch(tile, min(first_k + (i + 1u) * ${step}, last), end);
      multiply(corner);
    }
    end_chunk(corner.y);
  }
$else
  for (uint k = begin; k < end; k += ${step}) {
    barrier();  // the matrices of the step before have been read
    put_down_weight();  // first: 285 -> 275 us for 512 x 14336 x 4096 on an H100
    put_down_input();
    barrier();
    if (k + ${step} < end) fetch(tile, k + ${step}, end);
    multiply(corner);
  }
$end
  barrier();  // the last matrices have been read
  store_sums(tile + corner, slice * problem.m);
}
