// output = input * factor, `vec` elements an invocation; the caller pads to whole vectors.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/scaled.glsl" product

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i * ${vec} >= problem.numel) return;
  output_data[i] = ${glsl_type(dtype, vec)}(scaled(${glsl_type(f32, vec)}(input_data[i])));
}
