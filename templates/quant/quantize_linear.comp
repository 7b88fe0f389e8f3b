// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes with the quotient by the scale, one scale and zero point per block (docs/affine.md has the formula).
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
$include "lib/quantizer.glsl" quotient
$include "lib/block_parameters.glsl"
$include "lib/quantize_blocks.glsl"
