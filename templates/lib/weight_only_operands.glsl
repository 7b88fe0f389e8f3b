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
$include "lib/weight_rows.glsl" form

const uint kVectors = kPerLoad / 8u;  // of activations that meet a load

$part activation
// One activation, for devices without the mapping of lib/weight_fragments.glsl. Rows of floating-point activations have
// no scale, so row_scale() is 1.
$needs float load_real(uint index)
$gives float activation(uint m, uint k)
$gives float row_scale(uint m)

float activation(uint m, uint k) { return load_real(m * problem.k + k); }
float row_scale(uint m) { return 1.0; }
