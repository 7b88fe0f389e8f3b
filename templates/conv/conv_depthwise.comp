// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A convolution of each channel by itself. An invocation makes `strip` neighbours of a row of the output, of four
// channels: line by line of the window it reads what all of them read, once, and slides over it.
//
//   known    taps along both sides and stride along the width, known to the compiler; 0: any, read tap by tap
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

ivec4 sums[${strip}];

ivec4 weights_at(uint tap, uint block) {
  return unpack_i8(weight_words[tap * ceil_div4(problem.output_sides[2]) + block]);
}

// Adds line `line` of the window, which lies at input row `y`; `x` is where its first tap reads for the first pixel.
void add_line(uint image, int x, int y, uint line, uint block) {
$if known.taps == 0
  for (uint tap = 0u; tap < problem.taps[0]; ++tap) {
    const ivec4 w = weights_at(line * problem.taps[0] + tap, block);
    [[unroll]] for (uint i = 0u; i < ${strip}; ++i) {
      const int at = x + int(i * problem.stride[0] + tap * problem.dilation[0]);
      sums[i] += w * unpack_i8(four_channels(image, ivec2(at, y), 4u * block));
    }
  }
$else
  const uint kRead = ${(max(strip, 1) - 1) * known.stride + known.taps}u;
  ivec4 pixels[kRead];
  [[unroll]] for (uint i = 0u; i < kRead; ++i) {
    pixels[i] = unpack_i8(four_channels(image, ivec2(x + int(i), y), 4u * block));
  }
  [[unroll]] for (uint tap = 0u; tap < ${known.taps}u; ++tap) {
    const ivec4 w = weights_at(line * ${known.taps}u + tap, block);
    [[unroll]] for (uint i = 0u; i < ${strip}; ++i) sums[i] += w * pixels[i * ${known.stride}u + tap];
  }
$end
}

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
  [[unroll]] for (uint i = 0u; i < ${strip}; ++i) sums[i] = ivec4(0);
$if known.taps == 0
  for (uint line = 0u; line < problem.taps[1]; ++line) {
$else
  [[unroll]] for (uint line = 0u; line < ${known.taps}u; ++line) {
$end
    add_line(image, origin.x, origin.y + int(line * problem.dilation[1]), line, block);
  }
  [[unroll]] for (uint i = 0u; i < ${strip}; ++i) {
    if (strip + i < problem.row_pixels) store_pixel(uvec4(strip + i, y, 4u * block, image), sums[i], columns);
  }
}
