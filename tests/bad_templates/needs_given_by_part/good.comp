// output = input * factor, an element an invocation
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/scaled.glsl" factor
$include "lib/scaled.glsl"

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= problem.numel) return;
  output_data[i] = ${glsl_type(dtype)}(scaled(float(input_data[i])));
}
