// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The operands of weight-only layers on the matrices of lib/weight_fragments.glsl: activations of f16, and an integer
// weight.
${declare_vectors(input)}
${declare(input)}
${declare(weight_scales)}
${declare_vectors(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$if form == weight_q4_rows
$include "lib/weight_rows.glsl" q4
$else
$include "lib/weight_rows.glsl" q8
$end

const uint kVectors = kPerLoad / 8u;  // of activations that meet a load
