// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sums of attention/attention.comp with keys and values of int8, each row of which has a scale.
//
//   wide   keys are whole vectors of 16 bytes
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(tile.workgroup)}
${declare_bits(query)}
${declare_bits(key)}
${declare_bits(value)}
${declare_words(scales)}
${declare_words(mask)}
${declare(key_lengths)}
${declare_bits(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/attention_scores.glsl"
$include "lib/attention_rows.glsl" codes
