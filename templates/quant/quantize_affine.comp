// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes with the reciprocal of the scale, one scale and zero point per block (lib/affine.glsl has the formula).
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/quantizer.glsl"
$include "lib/block_parameters.glsl"
$include "lib/quantize_blocks.glsl"
