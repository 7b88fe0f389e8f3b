// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point values to int8 in any layout, per tensor, with the reciprocal of the scale. lib/q8ta.glsl
// has the formula.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare(input)}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/packed_tile.glsl" store
$include "lib/q8ta.glsl"

uint quantized(vec4 x) { return quantized(x, problem.inverse_scale, problem.zero_point); }

$include "lib/packed_quantize.glsl"
