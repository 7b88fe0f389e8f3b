// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention_vectors_q8rs.comp with keys, values and scales in blocks, which a table finds.
//
//   stage   whole: the rows are finished and stored
//           slice: for each row, its sums, its greatest score, the sum of its weights, and how many slices have keys:
//                  attention_join.comp joins them
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(tile.workgroup)}
${declare_words(query)}
${declare_vectors(key)}
${declare_vectors(value)}
${declare_words(scales)}
${declare(blocks)}
${declare_words(mask)}
${declare(key_lengths)}
${declare_vectors(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_scores.glsl" paged
$include "lib/attention_tiles.glsl" codes
