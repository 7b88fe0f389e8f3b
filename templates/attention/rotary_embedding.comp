// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y = (x * cos - other * sin, other * cos + x * sin) for each pair (x, other) of a row, in f32: docs/attention.md. An
// invocation has a pair, and neighbours have neighbouring ones. Elements after the rotated ones are copied, two at a
// time. Positions are data, so each is compared with the table: outside of it, cos and sin are 0.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(input)}
${declare_bits(cos)}
${declare_bits(sin)}
${declare(positions)}
${declare_bits(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"

$if dtype == f16
float load_input(uint index) { return f16_to_f32(uint(input_bits[index])); }
float load_cos(uint index) { return f16_to_f32(uint(cos_bits[index])); }
float load_sin(uint index) { return f16_to_f32(uint(sin_bits[index])); }
void store(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
float load_input(uint index) { return uintBitsToFloat(input_bits[index]); }
float load_cos(uint index) { return uintBitsToFloat(cos_bits[index]); }
float load_sin(uint index) { return uintBitsToFloat(sin_bits[index]); }
void store(uint index, float value) { output_bits[index] = floatBitsToUint(value); }
$end

// problem.start: how a row finds its row of cos and sin. 0: positions count from 0 in each batch; then: from a given
// one; given for each row; no positions, but a row of cos for each row; given for the last row of each batch.
const uint kStartAtOne = 1u, kStartOfRows = 2u, kStartOfTables = 3u, kStartOfLast = 4u;

// The row of cos and sin.
uint table_row(uint batch, uint place) {
  const uint here = batch * problem.sequence + place;
  if (problem.start == kStartOfTables) return here;
  if (problem.start == kStartOfRows) return uint(positions_data[here]);
  if (problem.start == kStartOfLast) {
    const int before = int(problem.sequence) - 1;
    return uint(max(positions_data[batch], before) - before) + place;
  }
  return problem.start == kStartAtOne ? uint(positions_data[0]) + place : place;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.pairs) return;
  const uint row = index / problem.half_width, pair = index % problem.half_width, first = row * problem.width;
  if (pair >= problem.rotated) {
    const uint at = 2u * pair;
    output_bits[first + at] = input_bits[first + at];
    if (at + 1u < problem.width) output_bits[first + at + 1u] = input_bits[first + at + 1u];
    return;
  }
  const uint inner = problem.heads_first != 0u ? problem.sequence : problem.heads;
  const uint batch = row / (problem.heads * problem.sequence);
  const uint place = problem.heads_first != 0u ? row % inner : row / inner % problem.sequence;
  const uint of_table = table_row(batch, place);
  float c = 0.0, s = 0.0;
  if (of_table < problem.table_rows) {
    c = load_cos(of_table * problem.rotated + pair);
    s = load_sin(of_table * problem.rotated + pair);
  }
  const uint at = first + (${are_neighbours} ? 2u * pair : pair);
  const uint behind = at + (${are_neighbours} ? 1u : problem.rotated);
  const float x = load_input(at), other = load_input(behind);
  precise const float y = x * c - other * s;
  precise const float z = other * c + x * s;
  store(at, y);
  store(behind, z);
}
