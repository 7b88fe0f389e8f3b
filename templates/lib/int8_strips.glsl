// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Strips of lib/matrix_strips.glsl that become int8, four in a word. An invocation takes each step with all its words of a
// strip before the next step, so that they wait for memory together: a loop over words would wait for each. A strip's
// residual is fetched before its sums are put down. The includer says
//
//   residual_at(row, column)          four bytes of it
//   store_bytes(row, column, word)
const uint kStripInvocations = kInvocations / kSubgroups;
const uint kStripOutputs = ${matrix.m}u * kStripVectors;  // in words
const uint kShare = (kStripOutputs + kStripInvocations - 1u) / kStripInvocations;

uint strip_place(uint i) { return gl_SubgroupInvocationID + i * kStripInvocations; }

bool is_output_of_strip(uint i, uvec2 corner) {
  return strip_place(i) < kStripOutputs && is_output(corner.x + strip_place(i) / kStripVectors, corner.y);
}

uint strip_residual[kShare];
void begin_strip(uvec2 corner, uint row_offset) {
  if (problem.has_residual == 0u) return;
  [[unroll]] for (uint i = 0u; i < kShare; ++i) {
    const uint row = corner.x + strip_place(i) / kStripVectors + row_offset;
    strip_residual[i] = is_output_of_strip(i, corner) ? residual_at(row, corner.y) : 0u;
  }
}

// The long way is a loop, which leaves its words where the sums were.
void store_long_words(uint first, Columns columns) {
  for (uint at = gl_SubgroupInvocationID; at < kStripOutputs; at += kStripInvocations) {
    const uint word = first + strip_word(at);
    tile_words[word].x = pack_i8(long_outputs(sums_at(word), columns));
  }
}

void store_strip(uint first, uvec2 corner, uint row_offset, Columns columns) {
  uint words[kShare];
  const bool is_short = subgroupAll(columns.is_short);
  if (!is_short) store_long_words(first, columns);
  ivec4 sums[kShare];
  [[unroll]] for (uint i = 0u; i < kShare; ++i) sums[i] = sums_at(first + strip_word(strip_place(i) % kStripOutputs));
  if (!is_short) {
    [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = uint(sums[i].x);
  } else if (problem.k <= kExactDepth) {
    [[unroll]] for (uint i = 0u; i < kShare; ++i) {
      words[i] = pack_i8(short_outputs(short_sums(sums[i], columns, true), columns));
    }
  } else {
    [[unroll]] for (uint i = 0u; i < kShare; ++i) {
      words[i] = pack_i8(short_outputs(short_sums(sums[i], columns, false), columns));
    }
  }
  if (problem.has_table != 0u) {
    [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = by_table(words[i]);
  }
  if (problem.has_residual != 0u) {
    [[unroll]] for (uint i = 0u; i < kShare; ++i) words[i] = with_residual(words[i], strip_residual[i]);
  }
  [[unroll]] for (uint i = 0u; i < kShare; ++i) {
    const uint row = corner.x + strip_place(i) / kStripVectors + row_offset;
    if (is_output_of_strip(i, corner)) store_bytes(row, corner.y, words[i]);
  }
}
