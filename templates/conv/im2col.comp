// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Explicit im2col: writes the matrix of the inputs that each output pixel reads. A row is an output pixel. It has the
// channels of one tap after another, each tap rounded up to whole units. An invocation copies `unit` channels of a tap.
// A tap outside the image reads its zero point, which is 0 for floating-point images. Channels that only fill up a tap
// are 0, as their weights are.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/conv_boxes.glsl"

const uint kUnits = ${unit / 4}u;  // of four channels
$if unit == 16
${declare_words(input, 4)}
${declare_words(patches, 4)}
$include "lib/conv_input.glsl"

uvec4 unit_at(uint image, ivec2 at, uint channel) {
  const uint pixel = (image * problem.input_sides[1] + uint(at.y)) * problem.input_sides[0] + uint(at.x);
  return is_inside(at) ? input_words[(pixel * problem.channels + channel) / 16u] : uvec4(zero_point_word());
}
$elif input_dtype == i8
$include "lib/conv_input.glsl"
${declare_words(patches)}

uint unit_at(uint image, ivec2 at, uint channel) {
  return channel < problem.channels ? four_channels(image, at, channel) : 0u;
}
$else
${declare(input)}
${declare_words(patches, bytes(patch_dtype))}
$include "lib/words.glsl"
$include "lib/real_elements.glsl" load
$include "lib/conv_input.glsl" bounds

${glsl_type(u32, bytes(patch_dtype))} unit_at(uint image, ivec2 at, uint channel) {
  vec4 reals = vec4(0.0);
  if (is_inside(at)) {
    const uint plane = problem.input_strides[2];
    const uint first = image * problem.input_strides[3] + uint(at.y) * problem.input_strides[1] + uint(at.x);
    for (uint lane = 0u; lane < 4u; ++lane) {
      if (channel + lane < problem.channels) reals[lane] = load_real(first + (channel + lane) * plane);
    }
  }
  return pack_${patch_dtype}(reals);
}
$end

void main() {
  const uint units = problem.row_units / kUnits;
  const uvec2 place = row_and_unit(units);
  if (place.x >= problem.m || place.y >= units) return;
  const uint tap = place.y / (problem.tap_units / kUnits);
  const uint line = place.x / problem.row_pixels;
  const uvec2 pixel = uvec2(place.x % problem.row_pixels, line % problem.output_sides[1]);
  const uvec2 reach = uvec2(tap % problem.taps[0], tap / problem.taps[0]);
  const ivec2 at = ivec2(pixel.x * problem.stride[0] + reach.x * problem.dilation[0],
                         pixel.y * problem.stride[1] + reach.y * problem.dilation[1]) -
                   ivec2(problem.padding[0], problem.padding[1]);
  const uint channel = place.y % (problem.tap_units / kUnits) * ${unit}u;
  patches_words[place.x * units + place.y] = unit_at(line / problem.output_sides[1], at, channel);
}
