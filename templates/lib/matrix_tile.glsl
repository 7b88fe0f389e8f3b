// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tile of outputs that a workgroup computes on cooperative matrices, and its shared memory. Each subgroup computes
// `blocks.m` x `blocks.n` matrices of the tile. The loop over K goes in steps. All invocations load the step's rows of
// x and w from global memory into registers while the matrices of the previous step are multiplied, and then put them
// here. The part `weight` does this with w where it is an integer weight, and `halves` multiplies matrices of f16.
//
//   tile_words   rows of x, then from kWeightTile on rows of w. A row has 16 bytes of padding, so that the rows of a
//                matrix begin in different banks. Before the first step it may hold a vector for each row (put_row()),
//                and in the end it holds the sums on their way out: lib/matrix_strips.glsl
//   kWords       words of a vector: a word divides it and the rows of a matrix
$needs const uint kVectors     // of 16 bytes, in a row of a step
$gives uvec3 tile_of_workgroup()

// Whether neighbouring invocations fetch the same vector of neighbouring rows of x, or neighbouring vectors of a row.
$needs const bool kAcrossRows
$gives tile_words
$gives const uint kWeightTile
$gives void put_row(uint row, ivec4 place)
$gives const uint kWords
$gives const uint kInvocations
$gives const uint kSubgroups
$gives const uint kRows
$gives const uint kColumns
$gives const uint kPitch
$gives const uint kStripVectors
$gives const uint kStripPitch
$gives const uint kStripWords
$gives uint strip_word(uint row, uint vector)
$gives void put_vector(uint word, uvec4 vector)
$gives uvec4 tile_vector(uint word)
$gives ivec4 row_at(uint row)
$gives uint word_at(uvec2 place)
$gives uint word_of(uint place)
$gives const uint kInputFetches
$gives uvec4 next_input
$gives uvec2 input_place(uint i)
$gives void put_down_input()
$gives uvec2 subgroup_corner()

const uint kInvocations = ${subgroups.workgroup};
const uint kSubgroups = ${subgroups.m} * ${subgroups.n};
const uint kRows = ${subgroups.m} * ${blocks.m} * ${matrix.m};
const uint kColumns = ${subgroups.n} * ${blocks.n} * ${matrix.n};

const uint kWords = ${16 / min(16, matrix.k)}u;
const uint kPitch = (kVectors + 1u) * kWords;
const uint kWeightTile = kRows * kPitch;
const uint kTileWords = (kRows + kColumns) * kPitch;

// A strip is two matrices side by side, so that a row of outputs fills a sector of 32 bytes. Each subgroup has one.
const uint kStripVectors = 2u * ${matrix.n / 4}u;
const uint kStripPitch = (kStripVectors + 2u) * kWords;  // rows begin in different banks
const uint kStripWords = ${matrix.m}u * kStripPitch;
$needs const uint kStrips = kSubgroups  // that the shared memory has room for
const uint kStripsWords = kStrips * kStripWords;

// The index of four sums in a strip.
uint strip_word(uint row, uint vector) { return row * kStripPitch + vector * kWords; }

shared ${glsl_type(u32, min(16, matrix.k) / 4)} tile_words[kTileWords > kStripsWords ? kTileWords : kStripsWords];

void put_vector(uint word, uvec4 vector) {
$if matrix.k == 8
  tile_words[word] = vector.xy;
  tile_words[word + 1u] = vector.zw;
$else
  tile_words[word] = vector;
$end
}

uvec4 tile_vector(uint word) {
$if matrix.k == 8
  return uvec4(tile_words[word], tile_words[word + 1u]);
$else
  return tile_words[word];
$end
}

void put_row(uint row, ivec4 place) { put_vector(row * kWords, uvec4(place)); }
ivec4 row_at(uint row) { return ivec4(tile_vector(row * kWords)); }

// The index of a row's vector, and of the place-th vector of rows.
uint word_at(uvec2 place) { return place.x * kPitch + place.y * kWords; }
uint word_of(uint place) { return word_at(uvec2(place / kVectors, place % kVectors)); }

// The vectors that an invocation loads from a step's rows of x, a workgroup apart.
const uint kInputFetches = (kRows * kVectors + kInvocations - 1u) / kInvocations;
uvec4 next_input[kInputFetches];

// The row in the tile and the vector of the step that the i-th is.
uvec2 input_place(uint i) {
  const uint place = gl_LocalInvocationIndex + i * kInvocations;
  return kAcrossRows ? uvec2(place % kRows, place / kRows) : uvec2(place / kVectors, place % kVectors);
}

void put_down_input() {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kInputFetches * kInvocations == kRows * kVectors || place < kRows * kVectors) {
      put_vector(word_at(input_place(i)), next_input[i]);
    }
  }
}

// The first row and column of this subgroup's part of the tile.
$needs uint subgroup_of_tile() { return gl_SubgroupID; }  // below kSubgroups
uvec2 subgroup_corner() {
  return uvec2(subgroup_of_tile() / ${subgroups.n} * ${blocks.m} * ${matrix.m}u,
               subgroup_of_tile() % ${subgroups.n} * ${blocks.n} * ${matrix.n}u);
}

// The row and column of this workgroup's tile of kRows rows, and the index of its product if several share a grid. The
// grid is [rows of a band, columns, bands of all products], so that tiles that run at one time share what they read, as
// in lib/tile_order.glsl; but nothing is divided where there is one product, which would take as long as a short
// kernel's multiplications. Of a band that is shorter than others the last row has no tile.
uvec3 tile_of_workgroup() {
  const uint bands = ((problem.m + kRows - 1u) / kRows + 7u) / 8u;
  uint band = gl_WorkGroupID.z, product = 0u;
  if (gl_NumWorkGroups.z != bands) {
    product = band / bands;
    band -= product * bands;
  }
  return uvec3(band * gl_NumWorkGroups.x + gl_WorkGroupID.x, gl_WorkGroupID.y, product);
}

$part halves
// Multiplies the matrices of f16 in shared memory, one k step at a time. `corner`: of this subgroup's outputs in the
// tile.
$include "lib/matrix_tile.glsl"
// LOAD_COLUMNS(w, k, word, column): loads a matrix of w, the k-th of the step, at word `word` of its rows, from column
// `column` of the tile on.
$needs LOAD_COLUMNS
$needs SUMS  // the matrices of sums
$gives void multiply(uvec2 corner)

void multiply(uvec2 corner) {
  [[unroll]] for (uint k = 0u; k < ${step} / ${matrix.k}u; ++k) {
    const uint word = k * ${matrix.k / 8}u * kWords;
    coopmat<float16_t, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> x[${blocks.m}];
    [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
      coopMatLoad(x[i], tile_words, (corner.x + i * ${matrix.m}u) * kPitch + word, kPitch,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      coopmat<float16_t, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> w;
      LOAD_COLUMNS(w, k, word, corner.y + j * ${matrix.n}u);
      [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) SUMS[i][j] = coopMatMulAdd(x[i], w, SUMS[i][j]);
    }
  }
}

$part weight
// Fetches a weight in rows of 16-byte loads (lib/weight_rows.glsl) into the shared memory, next to the rows of x.
$include "lib/matrix_tile.glsl"
$needs N_SIZE
$needs const uint kLoadVectors                       // that a load becomes
$needs const uint kPerLoad
$needs const uint kRowLoads                          // of the weight, in a row of a step
$needs uvec4 load_vector(uvec4 load, uint i)         // the i-th of them
$needs uint loads_per_row()
$gives void fetch_weight(uint first_n, uint k)
$gives void put_down_weight()

const uint kWeightFetches = (kColumns * kRowLoads + kInvocations - 1u) / kInvocations;
uvec4 next_weight[kWeightFetches];

// Rows past the last repeat it, and so do loads past the end.
void fetch_weight(uint first_n, uint k) {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    const uint row = min(first_n + place / kRowLoads, N_SIZE - 1u);
    const uint load = min(k / kPerLoad + place % kRowLoads, loads_per_row() - 1u);
    next_weight[i] = weight_loads[row * loads_per_row() + load];
  }
}

void put_down_weight() {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (place < kColumns * kRowLoads) {
      const uint word = kWeightTile + place / kRowLoads * kPitch + place % kRowLoads * kLoadVectors * kWords;
      [[unroll]] for (uint j = 0u; j < kLoadVectors; ++j) put_vector(word + j * kWords, load_vector(next_weight[i], j));
    }
  }
}
