// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 convolution on cooperative matrices: an implicit im2col product with the weight. lib/conv_rows.glsl finds the
// rows of the im2col matrix; lib/int8_matrix_product.glsl computes a tile of outputs.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
$if output_dtype == i8
#extension GL_KHR_shader_subgroup_vote : require
$end
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
$if output_dtype == i32
${declare(output, 4)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/conv_part.glsl"
$include "lib/conv_part.glsl" weight_sum
$include "lib/conv_store.glsl" tile

const uint kVectors = ${step} / 16u;
const bool kAcrossRows = ${reads == lines};
$include "lib/matrix_tile.glsl"

$if reads == lines
// ---- up to four channels: a pixel in packed_4c is a 32-bit word -----------------------------------------------------
//
// A unit is four neighbouring taps of a line of the window. The last unit of a line is padded with zero weights.
// Neighbouring invocations fetch the same unit of neighbouring rows (lib/matrix_tile.glsl), which are adjacent.
//
//   begin_rows(row, unit)       before the first step, with the tile's first row
//   row_unit(i, unit, is_read)  a unit of the i-th row that this invocation fetches; any where it is not read

${declare_words(input)}
$include "lib/conv_input.glsl"

uint units_of_a_line() { return (problem.taps[0] + 3u) / 4u; }
uint units_of_a_row() { return problem.channels == 0u ? 0u : problem.taps[1] * units_of_a_line(); }

uint weight_row_units() { return problem.taps[1] * units_of_a_line(); }
uint weight_unit(uint unit) { return unit; }
void next_step() {}

// Of each row of the tile, where it reads its first tap, as (width, height), and the word that this is. The divisions
// that it takes are made once a row; then each invocation keeps its own.
const uint kOwnRows = (kRows + kInvocations - 1u) / kInvocations;
ivec3 fetched_rows[kOwnRows];
uint units_inverse;  // 2^32 / units_of_a_line(), rounded up; 0 where that is one

void begin_rows(uint first, uint unit) {
  for (uint i = gl_LocalInvocationIndex; i < kRows; i += kInvocations) {
    const uvec3 pixel = pixel_of(min(first + i, part.rows - 1u));
    const ivec2 origin = input_origin(pixel.xy);
    const int line = int(pixel.z * problem.input_sides[1]) + origin.y;
    put_row(i, ivec4(origin, line * int(problem.input_sides[0]) + origin.x, 0));
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < kOwnRows; ++i) fetched_rows[i] = row_at(input_place(i).x).xyz;
  units_inverse = 0xffffffffu / max(1u, units_of_a_line()) + 1u;
}

// The line of the window that a unit is of. Exact where unit * units_of_a_line() is below 2^32: the inverse exceeds
// 2^32 / d by less than 1.
uint line_of(uint unit) {
  uint high, low;
  umulExtended(unit, units_inverse, high, low);
  return units_of_a_line() <= 1u ? unit : high;
}

uvec4 row_unit(uint i, uint unit, bool is_read) {
  const ivec3 row = fetched_rows[i % kOwnRows];
  const uint line = line_of(unit);
  const ivec2 reach = reach_of(uvec2(4u * (unit - line * units_of_a_line()), line));
  const ivec2 at = row.xy + reach;
  const int first = row.z + reach.y * int(problem.input_sides[0]) + reach.x;
  const bool is_line = is_read && uint(at.y) < problem.input_sides[1];
  uvec4 words = uvec4(zero_point_word());
  [[unroll]] for (uint word = 0u; word < 4u; ++word) {
    const int right = int(word * problem.tap_reach[0]);
    // A load alone is predicated, more is a branch.
    if (is_line && uint(at.x + right) < problem.input_sides[0]) words[word] = input_words[first + right];
  }
  return words;
}

// Rows past the part's last repeat it; their results are not stored.
uvec4 load_input(uint i, uint row, uint vector, uint end) { return row_unit(i, vector, vector < end); }
$else
// ---- more channels: a unit is sixteen of a pixel (lib/conv_rows.glsl) -----------------------------------------------

const uint kUnitWords = 4u;
const uint kUnits = kVectors;
const uint kFetches = kInputFetches;
$if reads == vectors
$include "lib/conv_rows.glsl" vectors
$else
$include "lib/conv_rows.glsl" words
$end
$include "lib/conv_rows.glsl" weight

// Rows past the part's last repeat it; their results are not stored.
uvec4 load_input(uint i, uint row, uint vector, uint end) { return row_unit(i, vector < end); }
$end

// ---- the tile -------------------------------------------------------------------------------------------------------

$include "lib/conv_store.glsl" tile_weight

$if output_dtype != i32
$include "lib/linear_outputs.glsl" tile_columns
$end
$if output_dtype == i8
$if output_layout == packed_4c and direction == forward
$include "lib/int8_matrix_product.glsl" row_vectors
$end
$end
$include "lib/int8_matrix_product.glsl" make_tile
$include "lib/conv_part.glsl" tile_main
