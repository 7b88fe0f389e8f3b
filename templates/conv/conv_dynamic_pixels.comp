// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of conv_dynamic_finish.comp for CPUs. An invocation computes all channels of a pixel, four at a time. So
// what a pixel needs is computed once, and the channels of all invocations are the same: a CPU loads their values once.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(sums, 4)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(weight_zero_points)}
${declare(bias)}
${declare(scale)}
${declare(zero_point)}
${declare(channel_sums)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/conv_input.glsl" bounds
$include "lib/quotient.glsl"
$include "lib/dynamic_outputs.glsl"

ivec2 tap_place(ivec2 first, uint tap) {
  return first + ivec2(tap % problem.taps[0], tap / problem.taps[0]) *
                     ivec2(problem.dilation[0], problem.dilation[1]);
}

// Of q - z, over the taps inside of the image.
int pixel_sum(ivec2 first, uint image) {
  int sum = 0;
  for (uint tap = 0u; tap < problem.taps[0] * problem.taps[1]; ++tap) {
    const ivec2 at = tap_place(first, tap);
    if (is_inside(at))
      sum += channel_sums_data[(image * problem.input_sides[1] + uint(at.y)) * problem.input_sides[0] + uint(at.x)];
  }
  return sum;
}

// Of w, over the taps outside of the image.
ivec4 sums_outside(ivec2 first, uint column) {
  ivec4 sums = ivec4(0);
  for (uint tap = 0u; tap < problem.taps[0] * problem.taps[1]; ++tap) {
    if (is_inside(tap_place(first, tap))) continue;
    for (uint lane = 0u; lane < 4u; ++lane) sums[lane] += tap_sum(min(column + lane, last_column()), tap);
  }
  return sums;
}

void main() {
  const uint pixel = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (pixel >= problem.pixels) return;
  const uint line = quotient(pixel, problem.pixel_quotients[0], problem.pixel_quotients[1]);
  const uint image = quotient(line, problem.pixel_quotients[2], problem.pixel_quotients[3]);
  const uvec2 place = uvec2(pixel - line * problem.row_pixels, line - image * problem.output_sides[1]);
  const ivec2 first = ivec2(place * uvec2(problem.stride[0], problem.stride[1])) -
                      ivec2(problem.padding[0], problem.padding[1]);
  const uint all_taps = problem.taps[0] * problem.taps[1];
  const bool is_whole = problem.channels == 0u || is_inside(first) && is_inside(tap_place(first, all_taps - 1u));
  const bool has_sum = problem.has_weight_zero_points != 0u && problem.channels != 0u;
  const int sum = has_sum ? pixel_sum(first, image) : 0;

  const uint outputs = problem.output_sides[2], blocks = (outputs + 3u) / 4u, plane = problem.output_strides[2];
  const uint slices = problem.slices, slice_sums = problem.m * blocks;
  const int zero_point = zero_point_data[0];
  uint store_at = place.x + place.y * problem.output_strides[1] + image * problem.output_strides[3];
  for (uint block = 0u; block < blocks; ++block) {
    const Columns columns = columns_at(4u * block);
    ivec4 sums = -columns.weight_zero_points * sum;
    if (!is_whole) sums += zero_point * sums_outside(first, 4u * block);
    for (uint slice = 0u; slice < slices; ++slice) sums += sums_data[slice * slice_sums + pixel * blocks + block];
    const vec4 y = outputs_of(sums, columns);
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
      if (4u * block + lane < outputs) store_real(store_at + lane * plane, activate(flush_subnormal(y[lane])));
    }
    store_at += 4u * plane;
  }
}
