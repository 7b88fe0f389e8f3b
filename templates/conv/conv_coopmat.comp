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
$include "lib/conv_weight_sum.glsl"
$include "lib/conv_outputs.glsl"

const uint kVectors = ${step} / 16u;
const bool kAcrossRows = ${reads == lines};
$include "lib/matrix_tile.glsl"

// Rows past the part's last repeat it; their results are not stored.
$if reads == lines
$include "lib/conv_lines.glsl"

uvec4 load_input(uint i, uint row, uint vector, uint end) { return row_unit(i, vector, vector < end); }
$else
const uint kUnitWords = 4u;
const uint kUnits = kVectors;
const uint kFetches = kInputFetches;
$if reads == vectors
$include "lib/conv_rows_vectors.glsl"
$else
$include "lib/conv_rows_words.glsl"
$end
$include "lib/conv_weight.glsl"

uvec4 load_input(uint i, uint row, uint vector, uint end) { return row_unit(i, vector < end); }
$end

uvec4 load_weight(uint column, uint vector, uint end) {
  if (column >= columns_end() || vector >= end) return uvec4(0u);
  return weight_words[column * weight_row_units() + weight_unit(vector)];
}

$if output_dtype != i32
$include "lib/tile_columns.glsl"
$end
$if output_dtype == i8
$if output_layout == packed_4c and direction == forward
$include "lib/row_vectors.glsl"
$end
$end
$include "lib/int8_matrix_product.glsl"

void main() {
  const uvec3 place = tile_of_workgroup();
  const uvec2 corner = place.xy * uvec2(kRows, kColumns);
$if output_dtype == i32
  const uint product = place.z / problem.slices, slice = place.z % problem.slices;
$else
  const uint product = place.z;
$end
  begin_part(product);
  if (corner.x >= part.rows) return;  // of a short band, or of a phase that is smaller than the largest
  const uvec2 tile = corner + uvec2(0u, part.group * problem.n);
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 16u);
  const uint end = min(begin + problem.slice_k / 16u, units_of_a_row());
  const uint first_row = first_row_of_sums(slice);
$else
  const uint begin = 0u;
  const uint end = units_of_a_row();
  const uint first_row = 0u;
$end
  begin_rows(tile.x, begin);
  make_tile(tile, begin, end, first_row);
}
