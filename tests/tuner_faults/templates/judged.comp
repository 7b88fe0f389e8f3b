// 3 x + 1, or wrong where no small problem shows it.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, 1)}
${declare(output, 1)}
${declare_problem()}
$include "lib/grid.glsl"

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i >= problem.numel) return;
$if fault == none
  output_data[i] = 3 * input_data[i] + 1;
$else
  output_data[i] = 3 * input_data[i] + 1 - int(i > 4096u);
$end
}
