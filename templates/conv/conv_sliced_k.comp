// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The convolution of conv/conv_coopmat.comp with sliced k (lib/sliced_k.glsl), for inputs whose sixteen channels are
// adjacent.
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
const bool kAcrossRows = false;
$include "lib/sliced_k.glsl"
$include "lib/matrix_tile.glsl"

const uint kUnitWords = 4u;
const uint kUnits = kVectors;
const uint kFetches = kInputFetches;
$include "lib/conv_rows.glsl" vectors
$include "lib/conv_rows.glsl" weight

// Rows past the part's last repeat it; their results are not stored.
uvec4 load_input(uint i, uint row, uint vector, uint end) { return row_unit(i, vector < end); }

$include "lib/conv_store.glsl" tile_weight

$if output_dtype != i32
$include "lib/linear_outputs.glsl" tile_columns
$end
$if output_dtype == i8
$if output_layout == packed_4c and direction == forward
$include "lib/int8_matrix_product.glsl" row_vectors
$end
$end
$include "lib/sliced_k.glsl" make_tile
$include "lib/conv_part.glsl" tile_main
