// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention_coopmat.comp with keys and values in blocks, which a table finds.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(tile.workgroup)}
${declare_vectors(query)}
${declare_vectors(key)}
${declare_vectors(value)}
${declare(blocks)}
${declare_words(mask)}
${declare(key_lengths)}
${declare_vectors(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_scores.glsl" paged
$include "lib/attention_matrices.glsl" real
