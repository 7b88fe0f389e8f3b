// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_plain.comp on cooperative matrices: halves times weights as halves, which integers of eight
// bits are exactly, summed in f32.
//
// A workgroup makes a tile of outputs, and each of its subgroups `blocks.m` x `blocks.n` matrices of it. K is walked in
// steps of 32: all invocations fetch the step's rows of x and w into registers while the matrices of the step before are
// multiplied, and then put them into shared memory, the weights as halves. A row there has 16 bytes of padding, so that the
// rows of a matrix begin in different banks. What lies past the end of k counts as zero; rows past the last repeat it, and
// what they give is not stored.
//
//   form    weight_q8_rows: a column's scale is applied to its sum
//           weight_q4_rows: sums of a group are scaled before they are added up. Which invocation holds which element is the
//                           device's secret, so the scales come as a matrix too, with equal rows
//   stage   whole: the tile's sum is finished and stored
//           slice: a workgroup stores the sum over one slice of k as output[slice, m, n], which sum_slices.comp finishes
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
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/float16.glsl"
$include "lib/store_real.glsl"
$if form == weight_q4_rows
$include "lib/weight_q4_rows.glsl"
$else
$include "lib/weight_q8_rows.glsl"
$end
$if stage == whole
$include "lib/linear_finish.glsl"
$end

const uint kInvocations = ${subgroups.workgroup};
const uint kSubgroups = ${subgroups.m} * ${subgroups.n};
const uint kRows = ${subgroups.m} * ${blocks.m} * ${matrix.m};
const uint kColumns = ${subgroups.n} * ${blocks.n} * ${matrix.n};

// A vector is 16 bytes: eight halves of a row, made of kPacked words of the weight.
const uint kStep = 32u;
const uint kVectors = kStep / 8u;
const uint kPitch = kVectors + 1u;
const uint kWeightTile = kRows * kPitch;
const uint kPacked = 8u / kPerWord;

// Rows of x, then rows of w; in the end a strip of sums for each subgroup: two matrices side by side, so that a row of
// outputs fills a sector.
const uint kStripVectors = 2u * ${matrix.n / 4}u;
const uint kStripWords = ${matrix.m}u * kStripVectors;
const uint kTileWords = (kRows + kColumns) * kPitch;
const uint kStripsWords = kSubgroups * kStripWords;
shared uvec4 tile_words[kTileWords > kStripsWords ? kTileWords : kStripsWords];

// What an invocation fetches of a step: vectors a workgroup apart in the order of the tile.
const uint kInputLoads = (kRows * kVectors + kInvocations - 1u) / kInvocations;
const uint kWeightLoads = (kColumns * kVectors + kInvocations - 1u) / kInvocations;

uvec4 next_input[kInputLoads];
uint next_weight[kWeightLoads][kPacked];

// `vector` and `end` count vectors of k.
void fetch(uvec2 tile, uint vector, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(tile.x + place / kVectors, problem.m - 1u);
    const uint at = vector + place % kVectors;
    next_input[i] = at < end ? input_words[row * (problem.k / 8u) + at] : uvec4(0u);
  }
  [[unroll]] for (uint i = 0u; i < kWeightLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(tile.y + place / kVectors, problem.n - 1u);
    const uint at = min(vector + place % kVectors, end - 1u);
    [[unroll]] for (uint j = 0u; j < kPacked; ++j) {
      next_weight[i][j] = weight_words[4u * row * loads_per_row() + at * kPacked + j];
    }
  }
}

// Eight neighbouring weights.
uvec4 as_halves(uint packed[kPacked]) {
  float w[8];
  [[unroll]] for (uint i = 0u; i < kPacked; ++i) {
    [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) {
      const vec4 four = weight_quad(packed[i], quad) * kQuadScale;
      [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) w[i * kPerWord + quad_element(quad, lane)] = four[lane];
    }
  }
  return uvec4(packHalf2x16(vec2(w[0], w[1])), packHalf2x16(vec2(w[2], w[3])), packHalf2x16(vec2(w[4], w[5])),
               packHalf2x16(vec2(w[6], w[7])));
}

uint word_of(uint place) { return place / kVectors * kPitch + place % kVectors; }

void put_down() {
  [[unroll]] for (uint i = 0u; i < kInputLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (place < kRows * kVectors) tile_words[word_of(place)] = next_input[i];
  }
  [[unroll]] for (uint i = 0u; i < kWeightLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (place < kColumns * kVectors) tile_words[kWeightTile + word_of(place)] = as_halves(next_weight[i]);
  }
}

coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

$if form == weight_q4_rows
coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> of_group[${blocks.m}][${blocks.n}];
shared float scale_rows[${matrix.m}u * kColumns];

void put_down_scales(uint first_n, uint group) {
  for (uint at = gl_LocalInvocationIndex; at < ${matrix.m}u * kColumns; at += kInvocations) {
    const uint column = min(first_n + at % kColumns, problem.n - 1u);
    scale_rows[at] = weight_scales_data[column * problem.groups + group];
  }
}

void begin_group() {
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      of_group[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
}

void end_group(uint corner_n) {
  [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
    coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> scales;
    coopMatLoad(scales, scale_rows, corner_n + j * ${matrix.n}u, kColumns, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) sums[i][j] += of_group[i][j] * scales;
  }
}
$end

// Multiplies what lies in shared memory. `corner`: of this subgroup's outputs in the tile.
void multiply(uvec2 corner) {
  [[unroll]] for (uint k = 0u; k < kStep / ${matrix.k}u; ++k) {
    const uint word = k * ${matrix.k / 8}u;
    coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> x[${blocks.m}];
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopMatLoad(x[i], tile_words, (corner.x + i * ${matrix.m}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> w;
      coopMatLoad(w, tile_words, kWeightTile + (corner.y + j * ${matrix.n}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
$if form == weight_q4_rows
        of_group[i][j] = coopMatMulAdd(x[i], w, of_group[i][j]);
$else
        sums[i][j] = coopMatMulAdd(x[i], w, sums[i][j]);
$end
      }
    }
  }
}

void store_sum(uint row, uint column, float sum, uint slice) {
  if (row >= problem.m || column >= problem.n) return;
$if form == weight_q8_rows
  sum *= weight_scales_data[column];
$end
$if stage == whole
  store_real(row * problem.n + column, finished(sum, column));
$else
  store_real((slice * problem.m + row) * problem.n + column, sum);
$end
}

// Each subgroup has its own part of the shared memory, and puts the strips of its rows of matrices there in turn. That is
// a loop, although which matrix is meant must be a constant, so that what follows is in the pipeline once.
void store(uvec2 corner, uint slice) {
  const uint first = gl_SubgroupID * kStripWords;
  for (uint part = 0u; part < ${blocks.m} * ${blocks.n} / 2u; ++part) {
    const uint block = part % ${blocks.m};
    const uint strip = part / ${blocks.m} * 2u;
    subgroupBarrier();
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
        if (i == block && j - j % 2u == strip) {
          coopMatStore(sums[i][j], tile_words, first + j % 2u * ${matrix.n / 4}u, kStripVectors,
                       gl_CooperativeMatrixLayoutRowMajor);
        }
      }
    }
    subgroupBarrier();
    for (uint at = gl_SubgroupInvocationID; at < kStripWords; at += gl_SubgroupSize) {
      const uint row = corner.x + block * ${matrix.m}u + at / kStripVectors;
      const uint column = corner.y + strip * ${matrix.n}u + at % kStripVectors * 4u;
      const vec4 four = uintBitsToFloat(tile_words[first + at]);
      [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) store_sum(row, column + lane, four[lane], slice);
    }
  }
}

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (problem.n + kColumns - 1u) / kColumns);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uvec2 corner = uvec2(gl_SubgroupID / ${subgroups.n} * ${blocks.m} * ${matrix.m}u,
                             gl_SubgroupID % ${subgroups.n} * ${blocks.n} * ${matrix.n}u);
  const uint begin = min(slice * problem.slice_k, problem.k);
  const uint end = min(begin + problem.slice_k, problem.k);

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0.0);
    }
  }
  if (begin < end) fetch(tile, begin / 8u, end / 8u);
  for (uint k = begin; k < end; k += kStep) {
$if form == weight_q4_rows
    const uint group = problem.groups > 1u ? k / problem.group_size : 0u;
    const uint group_begin = max(group * problem.group_size, begin);
    const uint group_end = problem.groups > 1u ? min((group + 1u) * problem.group_size, end) : end;
$end
    barrier();  // the matrices of the step before have been read
    put_down();
$if form == weight_q4_rows
    if (k == group_begin) put_down_scales(tile.y, group);
$end
    barrier();
    if (k + kStep < end) fetch(tile, (k + kStep) / 8u, end / 8u);
$if form == weight_q4_rows
    if (k == group_begin) begin_group();
$end
    multiply(corner);
$if form == weight_q4_rows
    if (k + kStep >= group_end) end_group(corner.y);
$end
  }
  barrier();  // the last matrices have been read
  store(tile + corner, slice);
}
