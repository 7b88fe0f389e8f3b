// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 linear layer in tiles of dot products (lib/int8_dot_product.glsl).
//
//   staging  shared: the workgroup shares the words of `step` bytes of k through shared memory; direct: caches do
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
$else
${declare(output)}
$end
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/tile_order.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"
$if output_dtype == i32 and dot == scalar
$include "lib/words.glsl"
$end
$include "lib/dot4.glsl"

const uint kRows = ${group.m} * ${tile.m}u;
const uint kBlocks = ${group.n} * ${tile.n / 4}u;  // of four columns

uint load_input(uint i, uint row, uint word, uint end) {
  return row < problem.m && word < end ? input_word(row, word) : 0u;
}
uvec4 load_weight(uint block, uint word, uint end) {
  const uint blocks = ceil_div4(problem.n);
  return block < blocks && word < end ? weight_words[word * blocks + block] : uvec4(0u);
}

$include "lib/int8_dot_product.glsl"

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (ceil_div4(problem.n) + kBlocks - 1u) / kBlocks);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kBlocks);
  const uint begin = slice * (problem.slice_k / 4u);
  make_tile(tile, begin, min(begin + problem.slice_k / 4u, ceil_div4(problem.k)), slice * problem.m);
}
