// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each output pixel from the four input pixels around it.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"

float pixel(uint plane, uint y, uint x) { return float(input_data[(plane * problem.height + y) * problem.width + x]); }

// Where an output coordinate lies in the input.
float source(uint i, uint from, uint to) {
$if corners == aligned
  return to > 1u ? float(i) * float(from - 1u) / float(to - 1u) : 0.0;
$else
  return max((float(i) + 0.5) * float(from) / float(to) - 0.5, 0.0);
$end
}

float resized(uint i) {
  const uint x = i % problem.out_width, y = i / problem.out_width % problem.out_height;
  const uint plane = i / (problem.out_width * problem.out_height);
  const float sy = source(y, problem.height, problem.out_height), sx = source(x, problem.width, problem.out_width);
  const uint y0 = min(uint(sy), problem.height - 1u), x0 = min(uint(sx), problem.width - 1u);
  const uint y1 = min(y0 + 1u, problem.height - 1u), x1 = min(x0 + 1u, problem.width - 1u);
  const float above = mix(pixel(plane, y0, x0), pixel(plane, y0, x1), sx - float(x0));
  const float below = mix(pixel(plane, y1, x0), pixel(plane, y1, x1), sx - float(x0));
  return mix(above, below, sy - float(y0));
}

void step(uint i) {
  for (uint at = ${vec} * i; at < ${vec} * (i + 1u); ++at) output_data[at] = ${glsl_type(dtype)}(resized(at));
}
$include "lib/steps.glsl"

void main() { all_steps(); }
