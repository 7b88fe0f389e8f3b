// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The output pixels of a forward convolution with one group, as rows of one matrix. lib/conv_part.glsl replaces it if
// there are groups or phases.
$gives Part part
$gives void begin_part()
$gives uvec3 pixel_of(uint row)
$gives ivec2 input_origin(uvec2 pixel)
$gives ivec2 reach_of(uvec2 at)

struct Part { uint rows; };
Part part;

void begin_part() { part.rows = problem.m; }

// A row, as (width, height, image) of its pixel.
uvec3 pixel_of(uint row) {
  const uint line = row / problem.row_pixels;
  return uvec3(row % problem.row_pixels, line % problem.output_sides[1], line / problem.output_sides[1]);
}

// Where it reads the first tap.
ivec2 input_origin(uvec2 pixel) {
  const uvec2 stride = uvec2(problem.stride[0], problem.stride[1]);
  return ivec2(pixel * stride) - ivec2(problem.padding[0], problem.padding[1]);
}

// How far a tap reads from the origin.
ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.dilation[0], problem.dilation[1]); }
