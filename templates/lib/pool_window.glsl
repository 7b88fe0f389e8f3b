// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The taps of a pool's window (docs/pool.md): those that are inside the image, and those that a mean counts. Dilations
// are dividers from kDilationDividers on, which the template defines.
$include "lib/quotient.glsl" dividers
$include "lib/float32.glsl"
$needs const uint kDilationDividers
$gives uvec2 taps_inside(uint axis, uint place)
$gives float reciprocal_at(uvec4 at)

// Along the width or the height: the first tap in the input, in input coordinates, and the number of taps in it.
uvec2 taps_inside(uint axis, uint place) {
  const uint start = place * problem.stride[axis];
  const uint begin = problem.padding[axis], end = begin + problem.input_sides[axis];
  const uint dilation = problem.dilation[axis];
  const uint skipped = start < begin ? divided(begin - start + dilation - 1u, kDilationDividers + axis).x : 0u;
  const uint count = min(problem.taps[axis], divided(end - start + dilation - 1u, kDilationDividers + axis).x);
  return uvec2(start + skipped * dilation - begin, count - skipped);
}

// How many taps of a window a mean counts along the width or the height.
uint counted(uint axis, uint place) {
  const uint start = place * problem.stride[axis];
  return min(start + problem.taps[axis], problem.counted_end[axis]) - max(start, problem.counted_begin[axis]);
}

// 1 / the divisor of the mean at a position of the output.
float reciprocal_at(uvec4 at) {
  if (problem.reciprocal != 0.0) return problem.reciprocal;
  return reciprocal(float(counted(0u, at.x) * counted(1u, at.y)));
}
