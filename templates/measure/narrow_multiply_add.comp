// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures f16 multiply-adds or int8 dot products: four chains of vectors per invocation. The f16 chains approach a
// fixed point, so that no value becomes infinite or subnormal. Each dot product has the last sum as a factor, so that
// none can be computed ahead. The sum is stored, so that the compiler cannot remove them.
#version 450
${extensions()}
$if path == f16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
$else
#extension GL_EXT_integer_dot_product : require
$end
${local_size(workgroup)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i >= problem.numel) return;
$if path == f16
  f16vec4 chains[4];
  for (uint chain = 0u; chain < 4u; ++chain) chains[chain] = f16vec4(vec4(float(i & 15u), 0.25, 0.5, float(chain)));
  for (uint step = 0u; step < problem.steps; ++step) {
    for (uint chain = 0u; chain < 4u; ++chain) chains[chain] = fma(chains[chain], f16vec4(0.5), f16vec4(1.0));
  }
  const f16vec4 sums = chains[0] + chains[1] + chains[2] + chains[3];
  output_data[i] = float(sums.x + sums.y + sums.z + sums.w);
$else
  ivec4 sums = ivec4(int(i)) + ivec4(0, 1, 2, 3);
  const int factor = int(i * 0x01010101u);
  for (uint step = 0u; step < problem.steps; ++step) {
    for (uint chain = 0u; chain < 4u; ++chain) sums[chain] += dotPacked4x8EXT(sums[chain], factor);
  }
  output_data[i] = float(sums.x ^ sums.y ^ sums.z ^ sums.w);
$end
}
