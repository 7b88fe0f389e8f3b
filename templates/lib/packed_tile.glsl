// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tiles of a layout conversion: the elements that one invocation reads and writes when a tensor goes from
// `input_layout` to `output_layout`. Four elements along the dimension that the output packs, four rows across, and
// four layers where a block of either layout is deep. The parts `load` and `store` move them.
//
// Sixty-four invocations work on a box of neighbouring tiles, whose sides the host chose. They are long enough along
// the fastest axis of the output's memory, and along that of the input's, that both sides move in whole sectors.
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$gives const uint kLanes
$gives const uint kRows
$gives const uint kLayers
$gives uint tile_side(uint dimension)
$gives uvec4 tile_of_invocation()
$gives bool is_outside(uvec4 at)
$gives uvec4 moved(uvec4 at, uint dimension, uint by)
$gives uvec4 moved_inside(uvec4 at, uint dimension, uint by)

const uint kLanes = ${packed(output_layout)}u;
const uint kRows = ${across(output_layout, input_layout)}u;
const uint kLayers = ${third(output_layout, input_layout)}u;  // 3: a tile has one layer

uint tile_side(uint dimension) {
  return dimension == kLanes || dimension == kRows || (dimension == kLayers && dimension != 3u) ? 4u : 1u;
}

// The first coordinate of this invocation's tile. Past the tensor's sides for invocations that have none.
uvec4 tile_of_invocation() {
  const uint invocation = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uvec3 shift = uvec3(problem.box_shifts[0], problem.box_shifts[1], problem.box_shifts[2]);
  const uint tile = invocation % 64u;
  const uvec2 first = divided(invocation / 64u, 0u);
  const uvec2 second = divided(first.x, 1u);
  const uvec3 inside = uvec3(tile, tile >> shift.x, tile >> (shift.x + shift.y)) & ((uvec3(1u) << shift) - 1u);
  const uvec3 walked = (uvec3(first.y, second.y, second.x) << shift) + inside;
  const uvec2 plane = divided(walked.z, 2u);
  uvec4 at;
  at[${first_axis}] = walked.x * tile_side(${first_axis});
  at[${second_axis}] = walked.y * tile_side(${second_axis});
  at[${third_axis}] = plane.y * tile_side(${third_axis});
  at.w = plane.x;
  return at;
}

bool is_outside(uvec4 at) {
  return at.x >= problem.sides[0] || at.y >= problem.sides[1] || at.z >= problem.sides[2] || at.w >= problem.sides[3];
}

uvec4 moved(uvec4 at, uint dimension, uint by) {
  at[dimension] += by;
  return at;
}

// The same, but not past the tensor's side.
uvec4 moved_inside(uvec4 at, uint dimension, uint by) {
  at[dimension] = min(at[dimension] + by, problem.sides[dimension] - 1u);
  return at;
}

$include "lib/packed_tile.glsl" transposed

$part load
// Loads a tile of `input`, int8 in any layout, as rows of the output: words along kLanes, side by side along kRows.
// Lanes, rows and layers past the tensor's sides are undefined. Where the input's blocks are deep each is loaded once,
// as 16 bytes.
$include "lib/packed_tile.glsl"
$gives load_tile

// Rows along this dimension, as the input has them.
const uint kInputRows = ${across(input_layout, output_layout)}u;

uvec4 turned(uvec4 rows) {
$if packed(input_layout) != packed(output_layout)
  return transposed(rows);
$else
  return rows;
$end
}

$if third(output_layout, input_layout) == 3
uvec4 load_tile(uvec4 at) { return turned(input_rows(at)); }
$else
void load_tile(uvec4 at, out uvec4 layer_0, out uvec4 layer_1, out uvec4 layer_2, out uvec4 layer_3) {
$if outer(input_layout) == third(output_layout, input_layout)
$for row in range(4)
  const uvec4 block_${row} = input_load_block(moved_inside(at, kInputRows, ${row}u));
$end
$for layer in range(4)
  layer_${layer} = turned(uvec4(block_0[${layer}], block_1[${layer}], block_2[${layer}], block_3[${layer}]));
$end
$else
$for layer in range(4)
  layer_${layer} = turned(input_rows(moved_inside(at, kLayers, ${layer}u)));
$end
$end
}
$end

$part store
// Stores a tile to `output`, int8 in any layout: words along kLanes, side by side along kRows. Elements past the
// tensor's sizes become `padding`, and are stored only inside the output's blocks.
$include "lib/packed_tile.glsl"
$gives store_tile

// Lanes and rows that hold no element hold the padding.
uvec4 padded(uvec4 at, uvec4 rows, uint padding) {
  const uint lanes = problem.sides[kLanes] - at[kLanes];
  const uint count = problem.sides[kRows] - at[kRows];
  if (lanes >= 4u && count >= 4u) return rows;
  const uint mask = lanes >= 4u ? 0xffffffffu : (1u << (8u * lanes)) - 1u;
  const uvec4 kept = uvec4(mask, count > 1u ? mask : 0u, count > 2u ? mask : 0u, count > 3u ? mask : 0u);
  return (rows & kept) | (uvec4(padding) & ~kept);
}

$if third(output_layout, input_layout) == 3
void store_tile(uvec4 at, uvec4 rows, uint padding) { output_store_rows(at, padded(at, rows, padding)); }
$else
void store_tile(uvec4 at, uvec4 layer_0, uvec4 layer_1, uvec4 layer_2, uvec4 layer_3, uint padding) {
  const uint layers = problem.sides[kLayers] - at[kLayers];
$for layer in range(4)
  layer_${layer} = ${layer}u < layers ? padded(at, layer_${layer}, padding) : uvec4(padding);
$end
$if outer(output_layout) == third(output_layout, input_layout)
  const uint rows = problem.sides[kRows] - at[kRows];
$for row in range(4)
  if (${row}u < rows) {
    output_store_block(moved(at, kRows, ${row}u),
                       uvec4(layer_0[${row}], layer_1[${row}], layer_2[${row}], layer_3[${row}]));
  }
$end
$else
$for layer in range(4)
  if (${layer}u < layers) output_store_rows(moved(at, kLayers, ${layer}u), layer_${layer});
$end
$end
}
$end

$part transposed
$gives uvec4 transposed(uvec4 words)

// Four words of four bytes: byte i of word j becomes byte j of word i.
uvec4 transposed(uvec4 words) {
  const uint kEven = 0x00ff00ffu;
  const uvec2 even = (words.xz & kEven) | ((words.yw & kEven) << 8);
  const uvec2 odd = ((words.xz >> 8) & kEven) | (words.yw & ~kEven);
  return uvec4((even.x & 0xffffu) | (even.y << 16), (odd.x & 0xffffu) | (odd.y << 16),
               (even.x >> 16) | (even.y & 0xffff0000u), (odd.x >> 16) | (odd.y & 0xffff0000u));
}
