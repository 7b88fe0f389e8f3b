// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 convolution in tiles of dot products: an implicit im2col product with the weight. lib/conv_rows.glsl finds
// the rows of the im2col matrix; lib/int8_dot_product.glsl computes a tile.
//
//   staging  shared: rows and weight of a step are in shared memory; direct: lib/conv_rows_direct.glsl reads them
//   dot      packed: integer dot products of the device; scalar: multiplications
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
${local_size(group.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
$if output_dtype == i32
${declare(output, 4)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/conv_part.glsl"
$include "lib/conv_weight_sum.glsl"
$include "lib/conv_outputs.glsl"

const uint kRows = ${group.m} * ${tile.m}u;
const uint kBlocks = ${group.n} * ${tile.n / 4}u;  // of four columns
$if staging == direct
$include "lib/conv_rows_direct.glsl"
$else
const uint kInvocations = ${group.workgroup};
const uint kUnitWords = 1u;
const uint kUnits = ${step / 4}u;
const uint kFetches = (kRows * kUnits + kInvocations - 1u) / kInvocations;
// The positions of the tile's rows, which kernels with lib/matrix_tile.glsl keep in that tile until the first step.
shared ivec4 tile_rows[kRows];
void put_row(uint row, ivec4 place) { tile_rows[row] = place; }
ivec4 row_at(uint row) { return tile_rows[row]; }

$include "lib/conv_rows_words.glsl"
$include "lib/conv_weight.glsl"
$include "lib/dot4.glsl"

// Rows past the part's last repeat it; their results are not stored.
uint load_input(uint i, uint row, uint word, uint end) { return row_unit(i, word < end).x; }

uvec4 load_weight(uint block, uint word, uint end) {
  if (4u * block >= columns_end() || word >= end) return uvec4(0u);
  return weight_words[weight_unit(word) * ceil_div4(problem.output_sides[2]) + block];
}
$end

$include "lib/int8_dot_product.glsl"

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (ceil_div4(problem.n) + kBlocks - 1u) / kBlocks);
$if output_dtype == i32
  const uint slices = problem.slices;
$else
  const uint slices = 1u;
$end
  const uint index = workgroup_index() % (tiles.x * tiles.y * slices);
  const uint product = workgroup_index() / (tiles.x * tiles.y * slices);
  if (product >= products()) return;
  begin_part(product);
  const uint slice = index / (tiles.x * tiles.y);
  const uvec2 corner = tile_of(index % (tiles.x * tiles.y), tiles) * uvec2(kRows, kBlocks);
  if (corner.x >= part.rows) return;  // of a phase that is smaller than the largest
  const uvec2 tile = corner + uvec2(0u, part.group * problem.n / 4u);
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 4u);
  const uint end = min(begin + problem.slice_k / 4u, units_of_a_row());
  const uint first_row = first_row_of_sums(slice);
$else
  const uint begin = 0u;
  const uint end = units_of_a_row();
  const uint first_row = 0u;
$end
  begin_rows(tile.x, begin);
  make_tile(tile, begin, end, first_row);
}
