// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, o, y, x] = weight_scales[o] * (sum over taps and channels of input * weight) + bias[o]
//
// An invocation computes one output; neighbours are along a row. The kernel supports any groups, and is the baseline of
// the others.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/weight_rows.glsl" q8
$include "lib/conv_input.glsl" bounds

// The products of sixteen channels of a tap, from `channel` on, whose first element is input[first].
float load_sum(uint first, uint channel, uvec4 load) {
  float sum = 0.0;
  [[unroll]] for (uint i = 0u; i < 16u; ++i) {
    if (channel + i < problem.channels) {
      const int w = bitfieldExtract(int(load[i / 4u]), int(i % 4u * 8u), 8);
      sum += load_real(first + i * problem.input_strides[2]) * float(w);
    }
  }
  return sum;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.m * problem.outputs) return;
  const uint line = index / problem.output_sides[0];
  const uint plane = line / problem.output_sides[1];
  const uvec2 pixel = uvec2(index % problem.output_sides[0], line % problem.output_sides[1]);
  const uint o = plane % problem.outputs;
  const uint image = plane / problem.outputs * problem.input_strides[3] +
                     o / problem.n * problem.channels * problem.input_strides[2];
  const uint loads = (problem.channels + 15u) / 16u;
  const uint taps = problem.channels == 0u ? 0u : problem.taps[0] * problem.taps[1];  // of no channels: any number
  float sum = 0.0;
  for (uint tap = 0u; tap < taps; ++tap) {
    const uvec2 reach = uvec2(tap % problem.taps[0], tap / problem.taps[0]);
    const ivec2 at = ivec2(pixel.x * problem.stride[0] + reach.x * problem.dilation[0],
                           pixel.y * problem.stride[1] + reach.y * problem.dilation[1]) -
                     ivec2(problem.padding[0], problem.padding[1]);
    if (!is_inside(at)) continue;
    const uint first = image + uint(at.y) * problem.input_strides[1] + uint(at.x);
    for (uint load = 0u; load < loads; ++load) {
      sum += load_sum(first + 16u * load * problem.input_strides[2], 16u * load,
                      weight_loads[o * loads_per_row() + tap * loads + load]);
    }
  }
  store_real(index, finished(weight_scales_data[o] * sum, o));
}
