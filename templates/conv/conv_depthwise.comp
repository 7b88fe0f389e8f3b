// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 depthwise convolution. An invocation computes `strip` neighbours of an output row, for four channels
// (lib/conv_strip.glsl).
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare_problem()}
${declare_words(weight)}
$include "lib/grid.glsl"
$include "lib/conv_input.glsl"

int weight_sum(uint n) { return weight_sums_data[n]; }
$include "lib/conv_store.glsl"

struct Source { uint image, block; };

ivec4 pixel_at(Source source, ivec2 at) { return unpack_i8(four_channels(source.image, at, 4u * source.block)); }
ivec4 weight_at(Source source, uint tap) {
  return unpack_i8(weight_words[tap * ceil_div4(problem.output_sides[2]) + source.block]);
}

const uint kAlong = 0u;
#define SUM ivec4
$include "lib/conv_strip.glsl"

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint blocks = ceil_div4(problem.output_sides[2]);
  const uint strips = (problem.row_pixels + ${strip - 1}u) / ${strip}u;
  const uint block = index % blocks;
  const uint strip = index / blocks % strips * ${strip}u;
  const uint row = index / blocks / strips;
  const uint image = row / problem.output_sides[1];
  if (row >= problem.output_sides[1] * problem.output_sides[3]) return;
  const uint y = row % problem.output_sides[1];
  const ivec2 origin = ivec2(strip * problem.stride[0], y * problem.stride[1]) -
                       ivec2(problem.padding[0], problem.padding[1]);
  const Columns columns = columns_at(4u * block);
  make_strip(Source(image, block), origin);
  [[unroll]] for (uint i = 0u; i < ${strip}; ++i) {
    if (strip + i < problem.row_pixels) store_pixel(uvec4(strip + i, y, 4u * block, image), sums[i], columns);
  }
}
