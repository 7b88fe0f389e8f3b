// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y = sum over keys of exp(s - m) * v / sum over keys of exp(s - m), with the scores s of a row and their greatest, m:
// docs/attention.md. A workgroup has some rows of the heads that share a head of keys, and goes through the keys once,
// a block at a time. If a block has a greater score than all before, the sums are multiplied by the exponential of the
// difference. All in f32.
//
//   scores     an invocation has a key, and multiplies it by all rows of queries, which are in shared memory
//   weights    some invocations share a row: its greatest score, and exp(s - m) in place of s
//   outputs    an invocation has some columns of all rows, and adds up the block's values
//
// Keys that no row of the tile uses are not loaded, so the memory after key_lengths may have any content.
//
//   wide   keys are whole vectors of 16 bytes
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(tile.workgroup)}
${declare_bits(query)}
${declare_bits(key)}
${declare_bits(value)}
${declare_words(mask)}
${declare(key_lengths)}
${declare_bits(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_rows.glsl" real
