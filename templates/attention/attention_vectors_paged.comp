// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention_vectors.comp with keys and values in blocks, which a table finds.
//
//   stage   whole: the rows are finished and stored
//           slice: for each row, its sums, its greatest score, the sum of its weights, and how many slices have keys:
//                  attention_join.comp joins them
//   halves  native: the device converts f16, and keeps what is subnormal; bits: lib/unpack_vector.glsl does
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
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
$include "lib/attention_tiles.glsl" real
