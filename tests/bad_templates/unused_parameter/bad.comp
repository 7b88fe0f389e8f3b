// output = input * factor, `vec` elements an invocation; the caller pads to whole vectors.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, 4)}
${declare(output, 4)}
${declare_problem()}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i * 4 >= problem.numel) return;
  output_data[i] = ${glsl_type(dtype, 4)}(${glsl_type(f32, 4)}(input_data[i]) * problem.factor);
}
