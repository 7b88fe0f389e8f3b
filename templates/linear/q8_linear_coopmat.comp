// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y[m, n] = sum over k of x[m, k] * w[n, k] in int8, on cooperative matrices.
//
// A workgroup computes a tile of outputs, with the loop over k of lib/matrix_tile.glsl. Elements outside x and w count
// as zero.
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
$include "lib/int8_matrix_product.glsl" make_tile

void main() {
  const uvec3 place = tile_of_workgroup();
  const uvec2 tile = place.xy * uvec2(kRows, kColumns);
  const uint slice = place.z;
  if (tile.x >= problem.m) return;
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 16u);
  make_tile(tile, begin, min(begin + problem.slice_k / 16u, (problem.k + 15u) / 16u), slice * problem.m);
$else
  make_tile(tile, 0u, (K_SIZE + 15u) / 16u, 0u);
$end
}
