// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y[m, n] = sum over k of x[m, k] * w[n, k] in int8, on cooperative matrices.
//
// A workgroup makes a tile of outputs, and each of its subgroups `blocks.m` x `blocks.n` matrices of it. K is walked in
// steps of `step` bytes: all invocations fetch the step's rows of x and w from global memory into registers while the
// matrices of the step before are multiplied, and then put them into shared memory. A row there has 16 bytes of
// padding, so that the rows of a matrix begin in different banks. What lies outside of x and w counts as zero.
//
// Sums go to their outputs through the same shared memory, since which invocation holds which element is the device's
// secret.
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

const uint kSubgroups = ${subgroups.m} * ${subgroups.n};
const uint kRows = ${subgroups.m} * ${blocks.m} * ${matrix.m};
const uint kColumns = ${subgroups.n} * ${blocks.n} * ${matrix.n};

// A vector is 16 bytes of a row; a word of shared memory divides it and the rows of a matrix.
const uint kVectors = ${step} / 16u;
const uint kWords = ${16 / min(16, matrix.k)}u;
const uint kPitch = (kVectors + 1u) * kWords;
const uint kWeightTile = kRows * kPitch;

// Two matrices side by side, so that a row of outputs fills a sector of 32 bytes.
const uint kStrip = ${blocks.n} % 2u == 0u ? 2u : 1u;
const uint kStripVectors = kStrip * ${matrix.n / 4}u;
const uint kStripPitch = (kStripVectors + 2u) * kWords;  // rows begin in different banks
const uint kStripWords = ${matrix.m}u * kStripPitch;

// Rows of x, then rows of w; in the end a strip of sums for each subgroup.
const uint kTileWords = (kRows + kColumns) * kPitch;
const uint kStripsWords = kSubgroups * kStripWords;
shared ${glsl_type(u32, min(16, matrix.k) / 4)} tile_words[kTileWords > kStripsWords ? kTileWords : kStripsWords];

// What an invocation fetches of a step: vectors `workgroup` apart in the order of the tile.
const uint kInputLoads = (kRows * kVectors + ${subgroups.workgroup} - 1u) / ${subgroups.workgroup};
const uint kWeightLoads = (kColumns * kVectors + ${subgroups.workgroup} - 1u) / ${subgroups.workgroup};

uvec4 load_input(uint row, uint vector, uint end) {
  return row < problem.m && vector < end ? input_vector(row, vector) : uvec4(0u);
}

uvec4 load_weight(uint column, uint vector, uint end) {
  return column < problem.n && vector < end ? weight_words[column * ((problem.k + 15u) / 16u) + vector] : uvec4(0u);
}

uvec4 next_input[kInputLoads];
uvec4 next_weight[kWeightLoads];

void fetch(uvec2 tile, uint vector, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * ${subgroups.workgroup};
    next_input[i] = load_input(tile.x + place / kVectors, vector + place % kVectors, end);
  }
  [[unroll]] for (uint i = 0u; i < kWeightLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * ${subgroups.workgroup};
    next_weight[i] = load_weight(tile.y + place / kVectors, vector + place % kVectors, end);
  }
}

uint word_of(uint place) { return place / kVectors * kPitch + place % kVectors * kWords; }

void put_down() {
  [[unroll]] for (uint i = 0u; i < kInputLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * ${subgroups.workgroup};
    if (kInputLoads * ${subgroups.workgroup} == kRows * kVectors || place < kRows * kVectors) {
$if matrix.k == 8
      tile_words[word_of(place)] = next_input[i].xy;
      tile_words[word_of(place) + 1u] = next_input[i].zw;
$else
      tile_words[word_of(place)] = next_input[i];
$end
    }
  }
  [[unroll]] for (uint i = 0u; i < kWeightLoads; ++i) {
    const uint place = gl_LocalInvocationIndex + i * ${subgroups.workgroup};
    if (kWeightLoads * ${subgroups.workgroup} == kColumns * kVectors || place < kColumns * kVectors) {
$if matrix.k == 8
      tile_words[kWeightTile + word_of(place)] = next_weight[i].xy;
      tile_words[kWeightTile + word_of(place) + 1u] = next_weight[i].zw;
$else
      tile_words[kWeightTile + word_of(place)] = next_weight[i];
$end
    }
  }
}

coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

// Multiplies what lies in shared memory. `corner`: of this subgroup's outputs in the tile.
void multiply(uvec2 corner) {
$if matrix.k >= 32
  [[unroll]]
$end
  for (uint k = 0u; k < ${step} / ${matrix.k}u; ++k) {
    const uint word = k * ${matrix.k / min(16, matrix.k)}u;
    coopmat<int8_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> x[${blocks.m}];
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopMatLoad(x[i], tile_words, (corner.x + i * ${matrix.m}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopmat<int8_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> w;
      coopMatLoad(w, tile_words, kWeightTile + (corner.y + j * ${matrix.n}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) sums[i][j] = coopMatMulAdd(x[i], w, sums[i][j]);
    }
  }
}

ivec4 sums_at(uint word) {
$if matrix.k == 8
  return ivec4(tile_words[word], tile_words[word + 1u]);
$else
  return ivec4(tile_words[word]);
$end
}

// Each subgroup has its own part of the shared memory, and puts the strips of its rows of matrices there in turn. That
// is a loop, although which matrix is meant must be a constant, so that what follows is in the pipeline once.
void store(uvec2 corner, uint row_offset) {
  const uint first = gl_SubgroupID * kStripWords;
  Columns columns;
  for (uint part = 0u; part < ${blocks.m} * ${blocks.n} / kStrip; ++part) {
    const uint block = part % ${blocks.m};
    const uint strip = part / ${blocks.m} * kStrip;
    subgroupBarrier();
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
        if (i == block && j - j % kStrip == strip) {
          coopMatStore(sums[i][j], tile_words, first + j % kStrip * ${matrix.n / 4}u * kWords, kStripPitch,
                       gl_CooperativeMatrixLayoutRowMajor);
        }
      }
    }
    subgroupBarrier();
    // An invocation keeps to four columns of a strip.
    const uint column = corner.y + strip * ${matrix.n}u + gl_SubgroupInvocationID % kStripVectors * 4u;
    if (block == 0u) columns = columns_at(column);
    for (uint at = gl_SubgroupInvocationID; at < ${matrix.m}u * kStripVectors; at += gl_SubgroupSize) {
      const uint strip_row = at / kStripVectors;
      const uint row = corner.x + block * ${matrix.m}u + strip_row;
      if (row < problem.m && column < problem.n) {
        const uint word = first + strip_row * kStripPitch + at % kStripVectors * kWords;
        store_outputs(row + row_offset, column, sums_at(word), columns);
      }
    }
  }
}

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (problem.n + kColumns - 1u) / kColumns);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kColumns);
  const uint begin = slice * (problem.slice_k / 16u);
  const uint end = min(begin + problem.slice_k / 16u, (problem.k + 15u) / 16u);
  const uvec2 corner = uvec2(gl_SubgroupID / ${subgroups.n} * ${blocks.m} * ${matrix.m}u,
                             gl_SubgroupID % ${subgroups.n} * ${blocks.n} * ${matrix.n}u);

  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
  fetch(tile, begin, end);
  for (uint at = begin; at < end; at += kVectors) {
    barrier();  // the matrices of the step before have been read
    put_down();
    barrier();
    if (at + kVectors < end) fetch(tile, at + kVectors, end);
    multiply(corner);
  }
  barrier();  // the last matrices have been read
  store(tile + corner, slice * problem.m);
}
