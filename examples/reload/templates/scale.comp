// y = 2 * x. Change the factor, and save: the running program prints the new result.
#version 450
${extensions()}
${declare(x, vec)}
${declare(y, vec)}
${declare_problem()}
layout(local_size_x = 64) in;

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < problem.numel / ${vec}) y_data[i] = 2.0 * x_data[i];
}
