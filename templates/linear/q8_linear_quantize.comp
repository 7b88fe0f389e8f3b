// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point values to int8, per tensor, four neighbours per invocation. lib/affine.glsl has the formula.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/real_elements.glsl" load

void main() {
  const uint first = 4u * (workgroup_index() * ${workgroup} + gl_LocalInvocationIndex);
  const uint end = problem.m * problem.k;
  if (first >= end) return;
  ivec4 q = ivec4(0);
  for (uint lane = 0u; lane < min(end - first, 4u); ++lane) {
    q[lane] = quantize(load_real(first + lane), problem.input_inverse_scale, problem.input_zero_point, -128, 127);
  }
  output_words[first / 4u] = pack_i8(q);
}
