// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The part of a convolution that a workgroup computes as one matrix product: a group of channels, and in a transposed
// convolution a phase. A phase is every stride-th pixel of the output. All its pixels read the same taps, and its
// neighbours read neighbours. So it is a forward convolution of stride 1 with the taps first, first + step, ... The
// part `weight_sum` of this file adds up the weights that the product reads.
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
$gives uvec2 phases()
$gives uint products()
$gives void begin_part(uint index)
$gives uint first_row_of_sums(uint slice)
$gives uvec3 pixel_of(uint row)
$gives uvec2 output_place(uvec2 pixel)
$gives ivec2 input_origin(uvec2 pixel)

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
// ---- transposed: a part is a phase of a group -----------------------------------------------------------------------

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
$else
// ---- forward: a part is a group -------------------------------------------------------------------------------------

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
$end

$part weight_sum
// The sum of the weights that the product reads for an output channel.
$include "lib/conv_part.glsl"
$gives int weight_sum(uint n)

int weight_sum(uint n) {
$if direction == transposed
  int sum = 0;
  if (problem.channels == 0u) return sum;  // there are no sums of taps
  for (uint y = 0u; y < part.taps.y; ++y) {
    for (uint x = 0u; x < part.taps.x; ++x) {
      const uvec2 tap = part.first + uvec2(x, y) * uvec2(problem.tap_step[0], problem.tap_step[1]);
      sum += weight_sums_data[n * problem.tap_sums + tap.y * problem.taps[0] + tap.x];
    }
  }
  return sum;
$else
  return weight_sums_data[n];
$end
}

$part tile_main
// The main() of kernels with a tile per workgroup.
$include "lib/conv_part.glsl"
$include "lib/matrix_tile.glsl"
$needs void begin_rows(uint first, uint unit)  // before the first step: the tile's first row, and the first unit of k
$needs uint units_of_a_row()
$needs void make_tile(uvec2 tile, uint begin, uint end, uint row_offset)

void main() {
  const uvec3 place = tile_of_workgroup();
  const uvec2 corner = place.xy * uvec2(kRows, kColumns);
$if output_dtype == i32
  const uint product = place.z / problem.slices, slice = place.z % problem.slices;
$else
  const uint product = place.z;
$end
  begin_part(product);
  if (corner.x >= part.rows) return;  // of a short band, or of a phase that is smaller than the largest
  const uvec2 tile = corner + uvec2(0u, part.group * problem.n);
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 16u);
  const uint end = min(begin + problem.slice_k / 16u, units_of_a_row());
  const uint first_row = first_row_of_sums(slice);
$else
  const uint begin = 0u;
  const uint end = units_of_a_row();
  const uint first_row = 0u;
$end
  begin_rows(tile.x, begin);
  make_tile(tile, begin, end, first_row);
}
