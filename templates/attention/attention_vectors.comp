// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention.comp, where keys and values are vectors of 16 bytes. A workgroup has some rows of the
// heads that share a head of keys, and a slice of the keys. It goes through them a block at a time. All in f32.
//
//   products   four invocations share a key, so that what they load is contiguous, and multiply it by all rows
//   weights    some invocations share a row: its greatest score, and exp(s - m) of each key
//   outputs    teams of invocations take the values in turn; an invocation has a vector of columns of all rows
//
// Keys that no row of the tile uses are not loaded, so the memory after key_lengths may have any content.
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
${declare_words(mask)}
${declare(key_lengths)}
${declare_vectors(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_tiles.glsl" real
