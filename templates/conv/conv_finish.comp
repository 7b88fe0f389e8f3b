// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The end of an int8 convolution with split K: adds the sums of all slices and applies the epilogue. The sums are
// [slice][phase][m][outputs rounded up to four]. A convolution that is not transposed has one phase, whose rows are the
// output pixels.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(sums, 4)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/conv_part.glsl"
$include "lib/conv_part.glsl" weight_sum
$include "lib/conv_store.glsl"

$if direction == transposed
// Begins the part that a pixel belongs to, and gives its row there.
uint begin_row(uint pixel, uvec4 place) {
  const uvec2 phase = place.xy % stride(), within = place.xy / stride();
  begin_part((phase.y * phases().x + phase.x) * (problem.output_sides[2] / problem.n));  // of the first group
  return (place.w * part.sides.y + within.y) * part.sides.x + within.x;
}
$else
uint begin_row(uint pixel, uvec4 place) { return pixel; }
$end

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint blocks = ceil_div4(problem.output_sides[2]);
$if output_layout == strided
  // Channels are planes in memory: neighbouring invocations compute pixels of one plane.
  const uint pixel = index % problem.pixels, block = index / problem.pixels;
$else
  const uint pixel = index / blocks, block = index % blocks;
$end
  if (pixel >= problem.pixels || block >= blocks) return;
  const uvec4 place = place_of(pixel, 4u * block);
  const uint row = begin_row(pixel, place);
  ivec4 sums = ivec4(0);
  for (uint slice = 0u; slice < problem.slices; ++slice) {
    sums += sums_data[(first_row_of_sums(slice) + row) * blocks + block];
  }
  store_pixel(place, sums, columns_at(4u * block));
}
