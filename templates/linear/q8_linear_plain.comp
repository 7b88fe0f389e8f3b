// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 linear layer without tiles: an invocation loops over k for one row of x and four output columns. It needs no
// device feature, and is the baseline of the other kernels.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"

int dot4(uint a, uint b) {
  const ivec4 products = unpack_i8(a) * unpack_i8(b);
  return products.x + products.y + products.z + products.w;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint row = index / ceil_div4(problem.n);
  const uint block = index % ceil_div4(problem.n);
  if (row >= problem.m) return;
  ivec4 sums = ivec4(0);
  for (uint word = 0u; word < ceil_div4(problem.k); ++word) {
    const uint x = input_word(row, word);
    const uvec4 w = weight_words[word * ceil_div4(problem.n) + block];
    sums += ivec4(dot4(x, w.x), dot4(x, w.y), dot4(x, w.z), dot4(x, w.w));
  }
  store_outputs(row, 4u * block, sums, columns_at(4u * block));
}
