// y = x, of a byte an integer.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, 1)}
${declare(output, 1)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i < problem.numel) output_data[i] = int(input_data[i]);
}
