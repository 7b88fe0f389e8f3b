// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tile of outputs on cooperative matrices of int8, from its rows of x and w (lib/matrix_tile.glsl). Values outside x
// and w, or from vector `end` on, count as zero. Kernels with a loop over k of their own include the part `matrices`
// alone.
$needs bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }  // of a matrix [m, n]
$needs const uint kVectors
$needs void load_columns(uint first) {}  // what the outputs of a column have in common: lib/linear_outputs.glsl
$needs uvec4 load_input(uint i, uint row, uint vector, uint end)  // 16 bytes of a row of x, this invocation's i-th
$needs uvec4 load_weight(uint column, uint vector, uint end)        // of a row of w
$needs void next_step() {}  // between the loads of two steps, of which an invocation has one vector
$needs void put_columns() {}
$needs void put_input() { put_down_input(); }
$gives const uint kSpan
$gives void put_block(uint i, uint j, uint word)
$gives ivec4 sums_at(uint word)
$gives void sum_tile(uvec2 tile, uint begin, uint end, uint row_offset)
$gives void store_sums(uvec2 corner, uint row_offset)

const uint kSpan = ${step};
$include "lib/int8_matrix_product.glsl" matrices

const uint kWeightFetches = (kColumns * kVectors + kInvocations - 1u) / kInvocations;
uvec4 next_weight[kWeightFetches];

void fetch(uvec2 tile, uint vector, uint end) {
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uvec2 place = input_place(i);
    next_input[i] = load_input(i, tile.x + place.x, vector + place.y, end);
  }
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    next_weight[i] = load_weight(tile.y + place / kVectors, vector + place % kVectors, end);
  }
}

void put_down_weight() {
  [[unroll]] for (uint i = 0u; i < kWeightFetches; ++i) {
    const uint place = gl_LocalInvocationIndex + i * kInvocations;
    if (kWeightFetches * kInvocations == kColumns * kVectors || place < kColumns * kVectors) {
      put_vector(kWeightTile + word_of(place), next_weight[i]);
    }
  }
}

void put_block(uint i, uint j, uint word) {
  coopMatStore(sums[i][j], tile_words, word, kStripPitch, gl_CooperativeMatrixLayoutRowMajor);
}

ivec4 sums_at(uint word) { return ivec4(tile_vector(word)); }

$include "lib/matrix_strips.glsl"
$if output_dtype == i8
// ---- int8 outputs from strips ---------------------------------------------------------------------------------------
//
// There are two paths. The fast one has no branches, so that loads, sums and stores of several words overlap. It needs
// whole vectors of columns, and strips of four words per invocation. The other path handles all cases.
$include "lib/linear_outputs.glsl"
$include "lib/linear_outputs.glsl" tile_columns
$needs bool have_vectors() { return false; }  // whether 16 columns are one vector, from each 16th on
$needs uint residual_at(uint row, uint column)  // of four columns
$needs uvec4 residual_vector(uint row, uint column) { return uvec4(0u); }
$needs void store_bytes(uint row, uint column, uint word)  // of four columns
$needs void store_vector(uint row, uint column, uvec4 vector) {}

$needs const uint kStoring = kInvocations  // invocations that store outputs
const uint kStripInvocations = kStoring / kSubgroups;
const uint kStripOutputs = ${matrix.m}u * kStripVectors;  // in words

uint short_word(ivec4 taken, Columns columns) {
  return packed_integers(short_shifted(short_sums(taken, columns), columns), problem.rounded_zero_point);
}

// ---- int8 outputs, the fast path: whole vectors of columns ----------------------------------------------------------

// An invocation has four neighbouring words of a row, of the same columns in all strips of a pair.
const uint kGap = 1u;  // the two halves of a row begin in different banks, as the rows do
const uint kRunsOfRow = kStripVectors / 4u;
const bool kAreRuns = kStripOutputs == 4u * kStripInvocations;

uvec2 run_place() {
  return uvec2(gl_SubgroupInvocationID / kRunsOfRow, gl_SubgroupInvocationID % kRunsOfRow * 16u);
}

uint run_word(uint i) {
  const uint vector = run_place().y / 4u + i;
  return first_strip_word() + strip_word(run_place().x, vector + vector / ${matrix.n / 4}u * kGap);
}

Columns run_columns[4];

// Whether all columns of the pair have short outputs (lib/linear_outputs.glsl). Each invocation checks a part of them.
bool begin_runs(uvec2 corner, uint pair) {
  const uint first = strip_corner(corner, uvec2(0u, pair)).y;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) run_columns[i] = tile_columns_at(first + run_place().y + 4u * i);
  bool are_short = layer_is_short();
  [[unroll]] for (uint i = 0u; i < 4u * kStripVectors; i += kStripInvocations) {
    const uint column = i + gl_SubgroupInvocationID;
    are_short = are_short && tile_column_is_short(first + column % (4u * kStripVectors));
  }
  return subgroupAll(are_short);
}

// The residual of a pair's strips. It is fetched before their sums are stored, so that all loads overlap.
uvec4 run_residual[${blocks.m}];

void fetch_residual(uvec2 corner, uint pair, uint row_offset) {
  [[unroll]] for (uint row = 0u; row < ${blocks.m}; ++row) {
    const uvec2 place = strip_corner(corner, uvec2(row, pair)) + run_place();
    run_residual[row] = uvec4(0u);
    if (is_output(place.x, place.y)) run_residual[row] = residual_vector(place.x + row_offset, place.y);
  }
}

// The results of short_outputs(), dequantized. Without a table, these are the integers of the result.
vec4 short_results(vec4 sum, Columns columns) {
  precise const vec4 result = (short_shifted(sum, columns) - kRoundingShift) * problem.result_scale;
  return result;
}

// A table replaces results before a residual is added.
uint run_output(ivec4 taken, Columns columns, uint residual) {
  if (!${with_residual} || ${with_table}) return residual_added(by_table(short_word(taken, columns)), residual);
  return sum_with_residual(short_results(short_sums(taken, columns), columns), residual);
}

void store_runs(uvec2 corner, uint pair, uint row_offset) {
  [[unroll]] for (uint row = 0u; row < ${blocks.m}; ++row) {
    const uvec2 strip = uvec2(row, pair);
    const uvec2 place = strip_corner(corner, strip) + run_place();
    put_strip(strip, kGap);
    uvec4 words;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      words[i] = run_output(sums_at(run_word(i)), run_columns[i], run_residual[row][i]);
    }
    if (is_output(place.x, place.y)) store_vector(place.x + row_offset, place.y, words);
  }
}

// ---- int8 outputs, the general path: any columns --------------------------------------------------------------------

// An invocation has words of the same columns in several rows. It does each step for all of them before the next step,
// so that their loads overlap: a loop over words would wait for each.
const uint kShare = (kStripOutputs + kStripInvocations - 1u) / kStripInvocations;

uint word_row(uint i) { return (gl_SubgroupInvocationID + i * kStripInvocations) / kStripVectors; }

uint sums_word(uint i) {
  return first_strip_word() + strip_word(word_row(i) % ${matrix.m}u, gl_SubgroupInvocationID % kStripVectors);
}

void store_words(uvec2 corner, uint pair, uint row_offset) {
  const uint column = strip_corner(corner, uvec2(0u, pair)).y + gl_SubgroupInvocationID % kStripVectors * 4u;
  const Columns columns = tile_columns_at(column);
  const bool is_short = subgroupAll(columns.is_short);
  uint words[kShare], residual[kShare];
  for (uint row = 0u; row < ${blocks.m}; ++row) {
    const uint first_row = strip_corner(corner, uvec2(row, pair)).x;
    if (${with_residual}) {
      [[unroll]] for (uint i = 0u; i < kShare; ++i) {
        residual[i] = 0u;
        if (word_row(i) < ${matrix.m}u && is_output(first_row + word_row(i), column)) {
          residual[i] = residual_at(first_row + word_row(i) + row_offset, column);
        }
      }
    }
    put_strip(uvec2(row, pair), 0u);
    if (!is_short) {  // a loop; each word replaces its sums in shared memory
      for (uint i = 0u; i < kShare; ++i) {
        if (word_row(i) >= ${matrix.m}u) break;
        tile_words[sums_word(i)].x = pack_i8(long_outputs(sums_at(sums_word(i)), columns));
      }
    }
    ivec4 taken[kShare];
    [[unroll]] for (uint i = 0u; i < kShare; ++i) taken[i] = sums_at(sums_word(i));
    if (is_short) {
      [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = short_word(taken[i], columns);
    } else {
      [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = uint(taken[i].x);
    }
    [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = residual_added(by_table(words[i]), residual[i]);
    [[unroll]] for (uint i = 0u; i < kShare; ++i) {
      if (word_row(i) < ${matrix.m}u && is_output(first_row + word_row(i), column)) {
        store_bytes(first_row + word_row(i) + row_offset, column, words[i]);
      }
    }
  }
}

bool may_be_runs() { return kAreRuns && have_vectors(); }

const bool kFetchesInLastRound = ${with_residual};
void begin_outputs(uvec2 corner, uint row_offset) {
  if (${with_residual} && may_be_runs()) fetch_residual(corner, 0u, row_offset);
}

void store_sums(uvec2 corner, uint row_offset) {
  [[dont_unroll]] for (uint pair = 0u; pair < kPairs; ++pair) {
    if (${with_residual} && pair != 0u && may_be_runs()) fetch_residual(corner, pair, row_offset);
    if (may_be_runs() && begin_runs(corner, pair)) {
      store_runs(corner, pair, row_offset);
    } else {
      store_words(corner, pair, row_offset);
    }
  }
}
$else
$include "lib/matrix_strips.glsl" plain
$end

// ---- the loop over k ------------------------------------------------------------------------------------------------

// The sums of a tile. Afterwards, the shared memory is free.
//
// Outputs wait for the parameters of columns, and some for a residual. A residual is loaded in a branch of the last
// round: after the loop the compiler moves its loads past the products (64 -> 256 channels of 128 images: 166 us, and
// 176 there, on an H200). Without one the last products come after the loop, and columns are loaded with them, into
// registers that held the next step (256 -> 256, 3x3: 72 -> 66 us).
void sum_tile(uvec2 tile, uint begin, uint end, uint row_offset) {
  const uvec2 corner = subgroup_corner();
  [[unroll]] for (uint i = 0u; i < ${blocks.m}; ++i) {
    [[unroll]] for (uint j = 0u; j < ${blocks.n}; ++j) {
      sums[i][j] = coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>(0);
    }
  }
  fetch(tile, begin, end);
  if (kFetchesInLastRound) {
    load_columns(tile.y);
    put_columns();
  }
  uint at = begin;
  do {  // once where there is nothing to add, too
    barrier();  // the matrices of the step before have been read
    put_input();
    put_down_weight();
    barrier();
    at += kVectors;
    if (!kFetchesInLastRound && at >= end) break;
    next_step();  // before the loads: a loop after them would wait for their data before it multiplies
    if (at < end) {
      fetch(tile, at, end);
    } else {
      begin_outputs(tile + corner, row_offset);
    }
    multiply(corner, 0u);
  } while (at < end);
  if (!kFetchesInLastRound) {
    load_columns(tile.y);
    multiply(corner, 0u);
    put_columns();
  }
  barrier();  // the last matrices have been read
}

$part make_tile
// Computes and stores the outputs of a tile.
$include "lib/int8_matrix_product.glsl"
$include "lib/matrix_tile.glsl"
$gives void make_tile(uvec2 tile, uint begin, uint end, uint row_offset)

// Vectors begin to end of the rows and columns from `tile` on; rows of outputs are stored `row_offset` further on.
void make_tile(uvec2 tile, uint begin, uint end, uint row_offset) {
  sum_tile(tile, begin, end, row_offset);
  store_sums(tile + subgroup_corner(), row_offset);
}

$part matrices
// int8 products on cooperative matrices, from the rows of x and w in shared memory (lib/matrix_tile.glsl). They go
// through k in spans.
$include "lib/matrix_tile.glsl"
$needs const uint kSpan  // elements of k
$needs const uint kMultiplied = kSpan            // of these, that this subgroup multiplies
$needs uint first_multiplied() { return 0u; }    // from this one on
$gives sums
$gives void multiply(uvec2 corner, uint span)

coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator> sums[${blocks.m}][${blocks.n}];

// Adds the products of one matrix width of bytes, from `word` of a row on.
void multiply_at(uvec2 corner, uint word) {
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

// Adds the products of this subgroup's part of span `span`. `corner`: of this subgroup's outputs in the tile. An
// unrolled loop loads matrices of all its rounds before it multiplies the first. Long loops gain by it with up to eight
// sums (4096 x 4096 x 4096 by 4 x 2 matrices a subgroup: 294 -> 271 us on an H200); short ones waste registers.
void multiply(uvec2 corner, uint span) {
  const uint kDepth = ${matrix.k / min(16, matrix.k)}u;  // of a matrix, in words
  const uint first = span * (kSpan / 16u * kWords) + first_multiplied() / 16u * kWords;
$if matrix.k >= 32
  if (${blocks.m} * ${blocks.n} <= (kMultiplied < 128u ? 4u : 8u)) {
    [[unroll]] for (uint k = 0u; k < kMultiplied / ${matrix.k}u; ++k) multiply_at(corner, first + k * kDepth);
    return;
  }
$end
  [[dont_unroll]] for (uint k = 0u; k < kMultiplied / ${matrix.k}u; ++k) multiply_at(corner, first + k * kDepth);
}

$part row_vectors
// For int8 outputs in row-major order, included before the rest of this file: stores sixteen at a time, if rows are
// multiples of sixteen.
$needs uint word_at(uint row, uint column)
$gives bool have_vectors()
$gives uvec4 residual_vector(uint row, uint column)
$gives void store_vector(uint row, uint column, uvec4 vector)

${declare_vectors(output)}
${declare_vectors(residual)}
bool have_vectors() { return problem.n % 16u == 0u; }
uvec4 residual_vector(uint row, uint column) { return residual_vectors[word_at(row, column) / 4u]; }
void store_vector(uint row, uint column, uvec4 vector) { output_vectors[word_at(row, column) / 4u] = vector; }
