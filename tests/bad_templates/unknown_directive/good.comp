// output = input * factor, `vec` elements an invocation; the caller pads to whole vectors.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, vec)}
${declare(output, vec)}
${declare_problem()}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i * ${vec} >= problem.numel) return;
$if vec == 4
  const vec4 x = vec4(input_data[i]);
$else
  const float x = float(input_data[i]);
$end
  output_data[i] = ${glsl_type(dtype, vec)}(x * problem.factor);
}
