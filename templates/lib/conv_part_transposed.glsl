// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The functions of lib/conv_part.glsl for transposed convolutions: a part is a phase of a group.
$needs Part part
$needs uvec2 stride()
$gives uvec2 phases()
$gives uint products()
$gives void begin_part(uint index)
$gives uint first_row_of_sums(uint slice)
$gives uvec3 pixel_of(uint row)
$gives uvec2 output_place(uvec2 pixel)
$gives ivec2 input_origin(uvec2 pixel)

// The first tap that pixels of the phase read along an axis, or how many taps there are.
uint first_tap(uint axis, uint phase) {
  const uint stride = problem.stride[axis];
  const uint wanted = (phase + problem.padding[axis]) % stride;
  uint tap = 0u;
  while (tap < problem.taps[axis] && tap * problem.dilation[axis] % stride != wanted) ++tap;
  return tap;
}

// Those that the output has pixels of.
uvec2 phases() { return min(stride(), uvec2(problem.row_pixels, problem.output_sides[1])); }

uint products() { return problem.output_sides[2] / problem.n * phases().x * phases().y; }

void begin_part(uint index) {
  const uint groups = problem.output_sides[2] / problem.n;
  part.group = index % groups;
  const uint phase = index / groups;
  part.phase = uvec2(phase % phases().x, phase / phases().x);
  const uvec2 output_sides = uvec2(problem.row_pixels, problem.output_sides[1]);
  for (uint axis = 0u; axis < 2u; ++axis) {
    const uint stride = problem.stride[axis];
    part.sides[axis] = (max(output_sides[axis], part.phase[axis]) - part.phase[axis] + stride - 1u) / stride;
    part.first[axis] = first_tap(axis, part.phase[axis]);
    part.taps[axis] = (problem.taps[axis] - part.first[axis] + problem.tap_step[axis] - 1u) / problem.tap_step[axis];
    // Divides without remainder.
    part.origin[axis] = (int(part.phase[axis] + problem.padding[axis]) -
                         int(part.first[axis] * problem.dilation[axis])) / int(stride);
  }
  part.rows = part.sides.x * part.sides.y * problem.input_sides[3];
}

uint first_row_of_sums(uint slice) {
  const uint phase = part.phase.y * phases().x + part.phase.x;
  return (slice * phases().x * phases().y + phase) * problem.m;
}

uvec3 pixel_of(uint row) {
  const uint line = row / part.sides.x, image = line / part.sides.y;
  return uvec3(row - line * part.sides.x, line - image * part.sides.y, image);
}

uvec2 output_place(uvec2 pixel) { return part.phase + pixel * stride(); }

ivec2 input_origin(uvec2 pixel) { return part.origin + ivec2(pixel); }
