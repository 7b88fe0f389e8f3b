// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// int8 outputs from the strips of lib/matrix_strips.glsl.
//
// There are two paths. The fast one has no branches, so that loads, sums and stores of several words overlap. It needs
// whole vectors of columns, and strips of four words per invocation. The other path handles all cases.
$include "lib/linear_outputs.glsl"
$include "lib/matrix_strips.glsl"
$include "lib/tile_columns.glsl"
$needs bool have_vectors() { return false; }  // whether 16 columns are one vector, from each 16th on
$needs bool is_output(uint row, uint column)
$needs uint residual_at(uint row, uint column)  // of four columns
$needs uvec4 residual_vector(uint row, uint column) { return uvec4(0u); }
$needs void store_bytes(uint row, uint column, uint word)  // of four columns
$needs void store_vector(uint row, uint column, uvec4 vector) {}
$needs ivec4 sums_at(uint word)
$gives const bool kFetchesInLastRound
$gives void begin_outputs(uvec2 corner, uint row_offset)
$gives void store_sums(uvec2 corner, uint row_offset)

const uint kStripInvocations = kInvocations / kSubgroups;
const uint kStripOutputs = ${matrix.m}u * kStripVectors;  // in words

uint short_word(ivec4 taken, Columns columns) {
  return packed_integers(short_shifted(short_sums(taken, columns), columns), problem.rounded_zero_point);
}

// ---- the fast path: whole vectors of columns ------------------------------------------------------------------------

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

// ---- the general path: any columns ----------------------------------------------------------------------------------

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
