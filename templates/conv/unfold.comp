// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Explicit im2col with channels first: output[(plane * window_lines + line) * line_taps + tap, pixel] is the tap's
// input. A plane is a channel of an image. Outside of it, and past the last pixel, the value is 0. An invocation writes
// a line of the window for one pixel; neighbouring invocations write neighbouring pixels.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store
$include "lib/conv_input.glsl" bounds

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index >= problem.planes * problem.window_lines * problem.columns) return;
  const uint row = index / problem.columns;
  const uint pixel = index % problem.columns;
  const uint first = row / problem.window_lines * problem.input_strides[2];
  const uvec2 place = uvec2(pixel % problem.output_sides[0], pixel / problem.output_sides[0]);
  ivec2 at = ivec2(place.x * problem.stride[0],
                   place.y * problem.stride[1] + row % problem.window_lines * problem.dilation[1]) -
             ivec2(problem.padding[0], problem.padding[1]);
  uint to = row * problem.line_taps * problem.columns + pixel;
  const bool is_pixel = pixel < problem.n;
  const uint taps = problem.line_taps;
  for (uint tap = 0u; tap < taps; ++tap) {
    store_real(to, is_pixel && is_inside(at) ? load_real(first + uint(at.y) * problem.input_strides[1] + uint(at.x))
                                             : 0.0);
    at.x += int(problem.dilation[0]);
    to += problem.columns;
  }
}
