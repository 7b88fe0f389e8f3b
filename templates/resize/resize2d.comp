// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Resizes a floating-point image, by the nearest pixel or by bilinear interpolation: docs/resize.md defines each
// rounding. An invocation computes one pixel of one channel. Image and channel are one index, because neither changes.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store

const uint kSourceDividers = 2u;
$include "lib/resize_source.glsl"

float pixel_at(uint x, uint y, uint plane) {
  return flush_subnormal(load_real((plane * problem.source_sides[1] + y) * problem.source_sides[0] + x));
}

float between(float first, float second, float weight) {
  precise const float difference = flush_subnormal(second - first);
  precise const float part = flush_product(weight * difference);
  precise const float result = flush_subnormal(first + part);
  return result;
}

// Two neighbours, and the distance of the position from the first.
struct Neighbours {
  uint first, second;
  float weight;
};

Neighbours neighbours_of(uint axis, uint place) {
  const uvec2 source = source_of(axis, place);
  const uint last = problem.source_sides[axis] - 1u;
  precise const float weight = to_float(int(source.y)) * problem.source_reciprocal[axis];
  return Neighbours(min(source.x, last), min(source.x + 1u, last), weight);
}

float proportional(uvec3 at) {
  const Neighbours x = neighbours_of(0u, at.x), y = neighbours_of(1u, at.y);
  return between(between(pixel_at(x.first, y.first, at.z), pixel_at(x.second, y.first, at.z), x.weight),
                 between(pixel_at(x.first, y.second, at.z), pixel_at(x.second, y.second, at.z), x.weight), y.weight);
}

void main() {
  const uint element = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (element >= problem.numel) return;
  const uvec2 row = divided(element, 0u);
  const uvec2 plane = divided(row.x, 1u);
  const uvec3 at = uvec3(row.y, plane.y, plane.x);
  store_real(element, problem.mode == kResizeModeLinear
                          ? proportional(at)
                          : pixel_at(nearest_source(0u, at.x), nearest_source(1u, at.y), at.z));
}
