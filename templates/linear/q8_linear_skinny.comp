// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 linear layer of few rows, on cooperative matrices: lib/skinny_tile.glsl.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(parts.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/fixed_sizes.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"

uvec4 load_column(uint column, uint vector) {
  return weight_words[min(column, N_SIZE - 1u) * ((K_SIZE + 15u) / 16u) + vector];
}

uvec4 load_row(uint row, uint vector) {
$if is_aligned and input_layout != packed_4h4w
  return input_words[min(row, problem.m - 1u) * (K_SIZE / 16u) + vector];
$else
  return input_vector(min(row, problem.m - 1u), vector);
$end
}

void store_four(uint row, uint column, ivec4 sums) { store_outputs(row, column, sums, columns_at(column)); }

#define ELEMENT int8_t
#define TERM int
#define FOUR_SUMS ivec4
#define FOUR_SUMS_OF(x) ivec4(x)
const uint kMatrixVectors = ${matrix.k / 16}u;
$include "lib/skinny_tile.glsl"

void main() {
  const uint row_tiles = (problem.m + kRows - 1u) / kRows;
  const uvec2 tile = uvec2(workgroup_index() % row_tiles, workgroup_index() / row_tiles) * uvec2(kRows, kColumns);
  if (tile.y >= N_SIZE) return;
  make_outputs(tile, uvec2(problem.m, N_SIZE), (K_SIZE + 15u) / 16u);
}
