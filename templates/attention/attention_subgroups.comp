// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention.comp for many rows, on devices without cooperative matrices. A workgroup has a tile of
// rows of the heads that share a head of keys. It goes through the keys a block at a time. Its invocations are teams of
// neighbours in a subgroup. A team has some rows:
//
//   products   a lane multiplies some keys of the block, which are in shared memory, by all rows of its team
//   weights    exp(s - m), in registers; m is found by shuffles in the team
//   outputs    a lane has some columns of all rows of its team. It gets the weights by shuffles, and the block's values
//              from shared memory
//
// All in f32. The next block's keys and values are loaded into registers meanwhile. Keys that no row of the tile uses
// are not loaded, so the memory after key_lengths may have any content.
//
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
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_teams.glsl" real
