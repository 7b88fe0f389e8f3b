// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Convolution of integers: a scale for the input, one for each channel of the weights, one for the output.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight)}
${declare(weight_scale)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
float load(uint i) { return dequantize(int(input_data[i]), problem.input_scale, problem.input_zero_point); }
float load_weight(uint i) { return float(weight_data[i]); }
$include "lib/window.glsl"
$include "lib/convolve.glsl"

void main() {
  const Window w = first_window();
  if (!is_output(w)) return;
  float sums[${outputs}];
  for (uint i = 0u; i < ${outputs}; ++i) sums[i] = 0.0;
  const uint channels_of_group = problem.channels / problem.groups;
  const uint group = w.channel / (problem.out_channels / problem.groups);
  for (uint c = 0u; c < channels_of_group; ++c) {
    add_channel(w, group * channels_of_group + c, (w.channel * channels_of_group + c) * ${window * window}, sums);
  }
  for (uint i = 0u; i < ${outputs} && w.x + i < problem.out_width; ++i) {
    const float y = sums[i] * weight_scale_data[w.channel] + bias_data[w.channel];
    output_data[output_place(w, i)] = ${glsl_type(dtype)}(
        quantize(y, problem.output_scale, problem.output_zero_point, problem.low, problem.high));
  }
}
