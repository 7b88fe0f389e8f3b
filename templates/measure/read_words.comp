// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures cache reads: neighbours read neighbouring vectors, then others at a distance of `stride`. read_walk() of
// runtime/workshop/measure chooses the stride so that a shared cache serves the reads, not the caches of single compute
// units. The values are combined and stored, so that the compiler cannot remove the reads.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input, 4)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i >= problem.invocations) return;
  uint at = i % problem.vectors;
  uvec4 combined = uvec4(0u);
  for (uint step = 0u; step < problem.steps; ++step) {
    [[unroll]] for (uint vector = 0u; vector < 4u; ++vector) {
      combined ^= input_data[at];
      at += problem.stride;
      at = at >= problem.vectors ? at - problem.vectors : at;
    }
  }
  output_data[i] = combined.x ^ combined.y ^ combined.z ^ combined.w;
}
