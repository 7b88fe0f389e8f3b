// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The taps of a pool's window that are inside the image (docs/pool.md). Dilations are dividers from kDilationDividers
// on, which the template defines.
$include "lib/divide.glsl"
$needs const uint kDilationDividers
$gives uvec2 taps_inside(uint axis, uint place)

// Along the width or the height: the first tap in the input, in input coordinates, and the number of taps in it.
uvec2 taps_inside(uint axis, uint place) {
  const uint start = place * problem.stride[axis];
  const uint begin = problem.padding[axis], end = begin + problem.input_sides[axis];
  const uint dilation = problem.dilation[axis];
  const uint skipped = start < begin ? divided(begin - start + dilation - 1u, kDilationDividers + axis).x : 0u;
  const uint count = min(problem.taps[axis], divided(end - start + dilation - 1u, kDilationDividers + axis).x);
  return uvec2(start + skipped * dilation - begin, count - skipped);
}
