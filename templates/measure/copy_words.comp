// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = input, sixteen bytes per invocation.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input, 4)}
${declare(output, 4)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint first = workgroup_index() * (${workgroup} * ${items}) + gl_LocalInvocationIndex;
  const uint end = problem.numel / 4u;
  if (first + (${items} - 1u) * ${workgroup} < end) {
    uvec4 words[${items}];
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) words[item] = input_data[first + item * ${workgroup}];
    [[unroll]] for (uint item = 0u; item < ${items}; ++item) output_data[first + item * ${workgroup}] = words[item];
    return;
  }
  for (uint at = first; at < end; at += ${workgroup}) output_data[at] = input_data[at];
}
