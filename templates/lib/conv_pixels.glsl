// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The pixels of the output of a convolution of one group, which is not transposed, as rows of one matrix: what
// lib/conv_part.glsl is where there are groups and phases.
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
