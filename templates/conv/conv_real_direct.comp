// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, o, y, x] = sum over taps and channels of input * weight, + bias[o]
//
// An invocation computes one output; neighbours are along a row. The kernel supports any groups, and is the baseline of
// the others. A transposed convolution also goes through all taps, and skips those that read nothing.
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(other)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" load_other
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/conv_input.glsl" bounds

// The input position that a tap reads along an axis for an output position; -1: none.
int reads(uint place, uint tap, uint axis) {
  const int spread = int(tap * problem.dilation[axis]);
  if (problem.is_transposed == 0u) return int(place * problem.stride[axis]) - int(problem.padding[axis]) + spread;
  const int from = int(place + problem.padding[axis]) - spread;
  const int stride = int(problem.stride[axis]);
  return from >= 0 && from % stride == 0 ? from / stride : -1;
}

// The products of sixteen channels of a tap, from the given first elements on, which are added to the sum.
float run_sum(uint channel, uint first, uint weight) {
  float sum = 0.0;
  [[unroll]] for (uint i = 0u; i < 16u; ++i) {
    if (channel + i < problem.group_channels) {
      sum += load_real(first + i * problem.input_strides[2]) * load_other(weight + i * problem.weight_channel);
    }
  }
  return sum;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.batches * problem.m * problem.n) return;
  const uint plane = index / problem.n;
  const uint pixel = index % problem.n;
  const uvec2 place = uvec2(pixel % problem.output_sides[0], pixel / problem.output_sides[0]);
  const uint o = plane % problem.outputs;
  const uint group = o / problem.m;
  const uint image = plane / problem.outputs * problem.input_strides[3] +
                     group * problem.group_channels * problem.input_strides[2];
  const uint weight = group * problem.weight_group + o % problem.m * problem.weight_output;
  const uint runs = (problem.group_channels + 15u) / 16u;
  const uint taps = runs == 0u ? 0u : problem.taps[0] * problem.taps[1];  // of no channels: any number
  float sum = 0.0;
  for (uint tap = 0u; tap < taps; ++tap) {
    const ivec2 at = ivec2(reads(place.x, tap % problem.taps[0], 0u), reads(place.y, tap / problem.taps[0], 1u));
    if (!is_inside(at)) continue;
    const uint first = image + uint(at.y) * problem.input_strides[1] + uint(at.x);
    for (uint run = 0u; run < runs; ++run) {
      sum += run_sum(16u * run, first + 16u * run * problem.input_strides[2],
                     weight + tap + 16u * run * problem.weight_channel);
    }
  }
  store_real(index, finished(sum, o));
}
