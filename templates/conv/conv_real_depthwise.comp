// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, o, y, x] = weight_scales[o] * (sum over taps of input * weight) + bias[o], if a group reads one channel. An
// invocation computes `strip` outputs below each other (lib/conv_strip.glsl). Neighbouring invocations compute
// neighbours of a row, so they read and write adjacent elements.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input)}
${declare_words(weight, 4)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/conv_input.glsl" bounds

struct Source { uint plane, weight; };  // the first element of the channel, and the first load of its taps

float pixel_at(Source source, ivec2 at) {
  // A load that always happens waits for no branch.
  const bool is_read = is_inside(at);
  const float pixel = load_real(is_read ? source.plane + uint(at.y) * problem.input_strides[1] + uint(at.x) : 0u);
  return is_read ? pixel : 0.0;
}

// A tap fills the first byte of its load.
float weight_at(Source source, uint tap) {
  return float(bitfieldExtract(int(weight_words[source.weight + tap].x), 0, 8));
}

const uint kAlong = 1u;
#define SUM float
$include "lib/conv_strip.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint strips = (problem.output_sides[1] + ${strip - 1}u) / ${strip}u;
  const uint x = index % problem.output_sides[0];
  const uint y = index / problem.output_sides[0] % strips * ${strip}u;
  const uint plane = index / problem.output_sides[0] / strips;
  if (plane >= problem.output_sides[3] * problem.outputs) return;
  const uint o = plane % problem.outputs;
  const uint image = plane / problem.outputs;
  const ivec2 origin = ivec2(x * problem.stride[0], y * problem.stride[1]) -
                       ivec2(problem.padding[0], problem.padding[1]);
  make_strip(Source(image * problem.input_strides[3] + o / problem.n * problem.input_strides[2],
                    o * problem.taps[0] * problem.taps[1]),
             origin);
  [[unroll]] for (uint i = 0u; i < ${strip}; ++i) {
    if (y + i < problem.output_sides[1]) {
      store_real((plane * problem.output_sides[1] + y + i) * problem.output_sides[0] + x,
                 finished(weight_scales_data[o] * sums[i], o));
    }
  }
}
