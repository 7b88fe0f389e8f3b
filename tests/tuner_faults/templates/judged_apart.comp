// 3 x + 1, otherwise.
#version 450
${extensions()}
${local_size(64)}
${declare(input, 1)}
${declare(output, 1)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * 64u + gl_LocalInvocationIndex;
  if (i < problem.numel) output_data[i] = (input_data[i] << 1) + input_data[i] + 1;
}
