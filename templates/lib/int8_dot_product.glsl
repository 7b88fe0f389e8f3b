// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tile of int8 outputs by dot products. An invocation keeps tile.m rows by tile.n columns of sums in registers. A
// workgroup has group.m by group.n invocations; neighbours are along n. A 32-bit word of w is four bytes of a column,
// and a vector is four columns. So one load feeds four dot products with each word of x.
$include "lib/dot4.glsl"
$needs struct Columns
$needs Columns columns_at(uint column) { return Columns(0u); }
$needs bool is_output(uint row, uint column) { return row < problem.m && column < problem.n; }
$needs const uint kBlocks
$needs const uint kRows
$needs uint load_input(uint i, uint row, uint word, uint end)  // four bytes of a row, this invocation's i-th
$needs uvec4 load_weight(uint block, uint word, uint end)  // of four columns
$needs void next_step() {}  // behind all loads of a step
$needs void store_outputs(uint row, uint column, ivec4 sums, Columns columns)
$gives void make_tile(uvec2 tile, uint begin, uint end, uint row_offset)

ivec4 sums[${tile.m}][${tile.n / 4}];

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
        input_tile[i / kWords * kPitch + i % kWords] = load_input(load, tile.x + i / kWords, at + i % kWords, end);
      }
    }
    [[unroll]] for (uint load = 0u; load < kWeightLoads; ++load) {
      const uint i = gl_LocalInvocationIndex + load * ${group.workgroup};
      if (i < kWords * kBlocks) weight_tile[i] = load_weight(tile.y + i % kBlocks, at + i / kBlocks, end);
    }
    next_step();
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
    [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) x[i] = load_input(i, tile.x + own.x + i * ${group.m}, word, end);
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
      w[j] = load_weight(tile.y + own.y + j * ${group.n}, word, end);
    }
    next_step();
    multiply(x, w);
  }
}
$end

// Picked by constants: an array that a variable indexes leaves the registers, and all sums go through memory.
ivec4 sums_at(uint row, uint block) {
  ivec4 picked = sums[0][0];
  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
      if (i == row && j == block) picked = sums[i][j];
    }
  }
  return picked;
}

// Words begin to end of the rows and blocks of columns from `tile` on.
void make_tile(uvec2 tile, uint begin, uint end, uint row_offset) {
  const uvec2 own = uvec2(gl_LocalInvocationIndex / ${group.n}, gl_LocalInvocationIndex % ${group.n});
  [[unroll]] for (uint i = 0u; i < ${tile.m}u; ++i) {
    [[unroll]] for (uint j = 0u; j < ${tile.n / 4}u; ++j) sums[i][j] = ivec4(0);
  }
  walk(tile, own, begin, end);

  for (uint j = 0u; j < ${tile.n / 4}u; ++j) {
    const uint column = 4u * (tile.y + own.y + j * ${group.n});
    if (!is_output(0u, column)) continue;
    const Columns columns = columns_at(column);
    for (uint i = 0u; i < ${tile.m}u; ++i) {
      const uint row = tile.x + own.x + i * ${group.m};
      if (is_output(row, column)) store_outputs(row_offset + row, column, sums_at(i, j), columns);
    }
  }
}
