// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output = activation(gate) * up, the activation by name.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(gate, vec)}
${declare(up, vec)}
${declare(output, vec)}
${declare_problem()}
$include "lib/common.glsl"

float activation(float x) {
$if activation == silu
  return silu(x);
$elif activation == gelu
  return gelu(x);
$elif activation == relu
  return relu(x);
$else
  return sigmoid(x);
$end
}

void step(uint i) {
  const ${glsl_type(f32, vec)} gate = ${glsl_type(f32, vec)}(gate_data[i]), up = ${glsl_type(f32, vec)}(up_data[i]);
$if vec == 1
  output_data[i] = ${glsl_type(dtype)}(activation(gate) * up);
$else
  ${glsl_type(f32, vec)} y;
$for lane in range(vec)
  y[${lane}] = activation(gate[${lane}]) * up[${lane}];
$end
  output_data[i] = ${glsl_type(dtype, vec)}(y);
$end
}
$include "lib/steps.glsl"

void main() { all_steps(); }
