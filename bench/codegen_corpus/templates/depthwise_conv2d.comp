// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A window of its own for each channel, with bias and silu.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
float load(uint i) { return float(input_data[i]); }
float load_weight(uint i) { return float(weight_data[i]); }
$include "lib/window.glsl"
$include "lib/convolve.glsl"

void main() {
  const Window w = first_window();
  if (!is_output(w)) return;
  float sums[${outputs}];
  for (uint i = 0u; i < ${outputs}; ++i) sums[i] = bias_data[w.channel];
  add_channel(w, w.channel, w.channel * ${window * window}, sums);
  for (uint i = 0u; i < ${outputs} && w.x + i < problem.out_width; ++i) {
    output_data[output_place(w, i)] = ${glsl_type(dtype)}(silu(sums[i]));
  }
}
