// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention.comp on f16 cooperative matrices with f32 sums. A workgroup has a tile of rows of the
// heads that share a head of keys. The queries stay in matrices. It goes through the keys a block at a time:
//
//   scores    q * k^T by matrices, into shared memory
//   weights   some invocations share a row: its greatest score m, and exp(s - m) as f16, times 2^15 so that small ones
//             are normal
//   outputs   sums = sums * exp(m before - m) + weights * v, by matrices. Vulkan does not define which invocation holds
//             which element, so the factors come as a matrix too, whose columns are equal
//
//   stage   whole: the rows are finished and stored
//           slice: a workgroup has a slice of the keys. It stores the sums, the greatest score and the sum of weights
//                  of each row, and how many slices have keys: attention_join.comp joins them
//
// The next block's keys and values are loaded into registers meanwhile. Keys that no row of the tile uses count as
// zeros and are not loaded, so the memory after key_lengths may have any content. Blocks that all rows use in full skip
// the comparisons of keys with rows.
//
//   tile_words   keys, then the block's weights; from kValueTile on values; from kScoreTile on scores. Before the first
//                block it holds the queries, after the last one sums on their way out. Rows have 16 bytes of padding,
//                so that they begin in different banks
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
${declare_words(mask)}
${declare(key_lengths)}
${declare_vectors(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_matrices.glsl" real
