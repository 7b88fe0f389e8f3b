// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The functions of lib/conv_part.glsl for forward convolutions: a part is a group.
$include "lib/quotient.glsl"
$needs Part part
$needs uvec2 stride()
$gives uint products()
$gives void begin_part(uint index)
$gives uint first_row_of_sums(uint slice)
$gives uvec3 pixel_of(uint row)
$gives uvec2 output_place(uvec2 pixel)
$gives ivec2 input_origin(uvec2 pixel)

uint products() { return problem.output_sides[2] / problem.n; }

void begin_part(uint index) {
  part.group = index;
  part.phase = uvec2(0u);
  part.sides = uvec2(problem.row_pixels, problem.output_sides[1]);
  part.origin = -ivec2(problem.padding[0], problem.padding[1]);
  part.first = uvec2(0u);
  part.taps = uvec2(problem.taps[0], problem.taps[1]);
  part.rows = part.sides.x * part.sides.y * problem.input_sides[3];
}

uint first_row_of_sums(uint slice) { return slice * problem.m; }

uvec3 pixel_of(uint row) {
  const uint line = quotient(row, problem.pixel_quotients[0], problem.pixel_quotients[1]);
  const uint image = quotient(line, problem.pixel_quotients[2], problem.pixel_quotients[3]);
  return uvec3(row - line * part.sides.x, line - image * part.sides.y, image);
}

uvec2 output_place(uvec2 pixel) { return pixel; }

ivec2 input_origin(uvec2 pixel) { return part.origin + ivec2(pixel * stride()); }
