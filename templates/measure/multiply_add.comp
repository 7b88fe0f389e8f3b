// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures f32 multiply-adds: four chains of them per invocation. The chains approach a fixed point, so that no value
// becomes infinite or subnormal. The sum is stored, so that the compiler cannot remove them.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i >= problem.numel) return;
  vec4 chains = vec4(float(i)) + vec4(0.0, 0.25, 0.5, 0.75);
  for (uint step = 0u; step < problem.steps; ++step) chains = chains * 0.5 + 1.0;
  output_data[i] = chains.x + chains.y + chains.z + chains.w;
}
