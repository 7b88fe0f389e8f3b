// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A linear layer in tiles of integer dot products. An invocation keeps tile.m rows by tile.n columns of sums in
// registers; a workgroup is group.m by group.n of them, neighbours along n. A word of w is four bytes of a column, and
// a vector four columns, so that one load feeds four dot products with each word of x.
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
$if output_dtype == i32
$include "lib/linear_partial.glsl"
$else
$include "lib/linear_epilogue.glsl"
$end
$if output_dtype == i32 and dot == scalar
$include "lib/words.glsl"
$end
$include "lib/dot4.glsl"

const uint kRows = ${group.m} * ${tile.m}u;
const uint kBlocks = ${group.n} * ${tile.n / 4}u;  // of four columns
ivec4 sums[${tile.m}][${tile.n / 4}];

uint load_input(uint row, uint word, uint end) { return row < problem.m && word < end ? input_word(row, word) : 0u; }
uvec4 load_weight(uint block, uint word, uint end) {
  const uint blocks = ceil_div4(problem.n);
  return block < blocks && word < end ? weight_words[word * blocks + block] : uvec4(0u);
}

void multiply(uint x[${tile.m}], uvec4 w[${tile.n / 4}]) {
  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
      sums[i][j] += ivec4(dot4(x[i], w[j].x), dot4(x[i], w[j].y), dot4(x[i], w[j].z), dot4(x[i], w[j].w));
    }
  }
}

$if staging == shared
const uint kWords = ${step / 4}u;
const uint kPitch = kWords + 1u;  // rows begin in different banks
shared uint input_tile[kRows * kPitch];
shared uvec4 weight_tile[kWords * kBlocks];

const uint kInputLoads = (kRows * kWords + ${group.workgroup} - 1u) / ${group.workgroup};
const uint kWeightLoads = (kWords * kBlocks + ${group.workgroup} - 1u) / ${group.workgroup};

void walk(uvec2 tile, uvec2 own, uint begin, uint end) {
  for (uint at = begin; at < end; at += kWords) {
    barrier();  // the step before has been read
    [[unroll]] for (uint load = 0u; load < kInputLoads; ++load) {
      const uint i = gl_LocalInvocationIndex + load * ${group.workgroup};
      if (i < kRows * kWords) {
        input_tile[i / kWords * kPitch + i % kWords] = load_input(tile.x + i / kWords, at + i % kWords, end);
      }
    }
    [[unroll]] for (uint load = 0u; load < kWeightLoads; ++load) {
      const uint i = gl_LocalInvocationIndex + load * ${group.workgroup};
      if (i < kWords * kBlocks) weight_tile[i] = load_weight(tile.y + i % kBlocks, at + i / kBlocks, end);
    }
    barrier();
    for (uint word = 0u; word < kWords; ++word) {
      uint x[${tile.m}];
      uvec4 w[${tile.n / 4}];
      [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) x[i] = input_tile[(own.x + i * ${group.m}) * kPitch + word];
      [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) w[j] = weight_tile[word * kBlocks + own.y + j * ${group.n}];
      multiply(x, w);
    }
  }
}
$else
void walk(uvec2 tile, uvec2 own, uint begin, uint end) {
  for (uint word = begin; word < end; ++word) {
    uint x[${tile.m}];
    uvec4 w[${tile.n / 4}];
    [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) x[i] = load_input(tile.x + own.x + i * ${group.m}, word, end);
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
      w[j] = load_weight(tile.y + own.y + j * ${group.n}, word, end);
    }
    multiply(x, w);
  }
}
$end

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (ceil_div4(problem.n) + kBlocks - 1u) / kBlocks);
  const uint slice = workgroup_index() / (tiles.x * tiles.y);
  if (slice >= problem.slices) return;
  const uvec2 tile = tile_of(workgroup_index() % (tiles.x * tiles.y), tiles) * uvec2(kRows, kBlocks);
  const uvec2 own = uvec2(gl_LocalInvocationIndex / ${group.n}, gl_LocalInvocationIndex % ${group.n});
  const uint begin = slice * (problem.slice_k / 4u);
  const uint end = min(begin + problem.slice_k / 4u, ceil_div4(problem.k));

  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) sums[i][j] = ivec4(0);
  }
  walk(tile, own, begin, end);

  [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
    const uint column = 4u * (tile.y + own.y + j * ${group.n});
    if (column >= problem.n) continue;
    const Columns columns = columns_at(column);
    [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
      const uint row = tile.x + own.x + i * ${group.m};
      if (row < problem.m) store_outputs(slice * problem.m + row, column, sums[i][j], columns);
    }
  }
}
