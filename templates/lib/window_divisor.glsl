// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The divisor of an average pool's window: docs/pool.md.
$include "lib/float32.glsl"
$gives float reciprocal_at(uvec4 at)

// How many taps of a window count along the width or the height.
uint counted(uint axis, uint place) {
  const uint start = place * problem.stride[axis];
  return min(start + problem.taps[axis], problem.counted_end[axis]) - max(start, problem.counted_begin[axis]);
}

float reciprocal_at(uvec4 at) {
  if (problem.reciprocal != 0.0) return problem.reciprocal;
  return reciprocal(float(counted(0u, at.x) * counted(1u, at.y)));
}
