// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The image, row and column of a pixel of a convolution's output.
$gives uvec4 place_of(uint pixel, uint channel)

// The place of a pixel of the output, counted row by row and image by image, padding of rows included.
uvec4 place_of(uint pixel, uint channel) {
  const uint row = pixel / problem.row_pixels;
  return uvec4(pixel % problem.row_pixels, row % problem.output_sides[1], channel, row / problem.output_sides[1]);
}
