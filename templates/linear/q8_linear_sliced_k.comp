// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The linear layer of linear/q8_linear_coopmat.comp with sliced k (lib/sliced_k.glsl), for rows of whole vectors.
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
$else
${declare(output)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/fixed_sizes.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"

const uint kVectors = ${step} / 16u;
const bool kAcrossRows = false;
$include "lib/sliced_k.glsl"
$include "lib/matrix_tile.glsl"

$include "lib/linear_input.glsl" tile

$if output_dtype != i32
$include "lib/linear_outputs.glsl" tile_columns
$end
$if output_dtype == i8
$if output_layout != packed_4h4w
$include "lib/int8_matrix_product.glsl" row_vectors
$end
$end
$include "lib/sliced_k.glsl" make_tile

void main() {
  const uvec2 tile = tile_of_workgroup().xy * uvec2(kRows, kColumns);
  if (tile.x < problem.m) make_tile(tile, 0u, (K_SIZE + 15u) / 16u, 0u);
}
