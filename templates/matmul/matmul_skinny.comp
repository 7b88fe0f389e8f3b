// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of matmul/matmul_plain.comp for few rows of `input` and a transposed `other`, on f16 cooperative matrices
// with f32 sums: lib/skinny_tile.glsl.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(parts.workgroup)}
${declare_words(input, 4)}
${declare_words(other, 4)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/real_elements.glsl" store_row
$include "lib/linear_finish.glsl"
$include "lib/batch_matrices.glsl"
$include "lib/fixed_sizes.glsl"

uvec2 first_vectors;  // of this product's matrices
uint first_row;       // of its outputs

uvec4 load_column(uint column, uint vector) {
  return other_words[first_vectors.y + min(column, N_SIZE - 1u) * (K_SIZE / 8u) + vector];
}

uvec4 load_row(uint row, uint vector) {
  return input_words[first_vectors.x + min(row, problem.m - 1u) * (K_SIZE / 8u) + vector];
}

void store_four(uint row, uint column, vec4 sums) { store_row(first_row + row, column, finished_row(sums, column)); }

#define ELEMENT float16_t
#define TERM float
#define FOUR_SUMS vec4
#define FOUR_SUMS_OF(x) uintBitsToFloat(x)
const uint kMatrixVectors = ${matrix.k / 8}u;
$include "lib/skinny_tile.glsl"

void main() {
  const uvec2 tiles = uvec2((problem.m + kRows - 1u) / kRows, (N_SIZE + kColumns - 1u) / kColumns);
  const uint product = workgroup_index() / (tiles.x * tiles.y);  // of the batch
  if (product >= problem.batches) return;
  first_vectors = matrices_of(product) / 8u;
  first_row = product * problem.m;
  const uint index = workgroup_index() % (tiles.x * tiles.y);
  make_outputs(uvec2(index % tiles.x, index / tiles.x) * uvec2(kRows, kColumns), uvec2(problem.m, N_SIZE), K_SIZE / 8u);
}
