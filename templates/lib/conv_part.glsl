// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The part of a convolution that a workgroup computes as one matrix product: a group of channels, and in a transposed
// convolution a phase. A phase is every stride-th pixel of the output. All its pixels read the same taps, and its
// neighbours read neighbours. So it is a forward convolution of stride 1 with the taps first, first + step, ...
// lib/conv_part_forward.glsl or conv_part_transposed.glsl, of which this file includes one, give:
//
//   products()              of all groups and phases
//   begin_part(index)       sets `part`
//   first_row_of_sums(s)    of this part: sums of slices of k are [slice][phase][m][outputs rounded up to four]
//   pixel_of(row)           a row of x, as (width, height, image) of its pixel within the part
//   output_place(pixel)     the position of that pixel in the output
//   input_origin(pixel)     where it reads the first tap
$include "lib/quotient.glsl"
$gives struct Part
$gives Part part
$gives uvec2 stride()
$gives ivec2 reach_of(uvec2 at)

struct Part {
  uint group;
  uvec2 phase;
  uvec2 sides;   // in pixels of the output
  uint rows;     // of x: the pixels of all images
  ivec2 origin;  // where pixel 0 reads the first tap
  uvec2 first;   // tap
  uvec2 taps;    // how many
};
Part part;

uvec2 stride() { return uvec2(problem.stride[0], problem.stride[1]); }

// The offset of a tap from the part's first.
ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.tap_reach[0], problem.tap_reach[1]); }

$if direction == transposed
$include "lib/conv_part_transposed.glsl"
$else
$include "lib/conv_part_forward.glsl"
$end
