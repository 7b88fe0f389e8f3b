// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y[m, n] = sum over k of x[m, k] * w[n, k] in int8, on cooperative matrices.
//
// A workgroup computes a tile of outputs, with the loop over k of lib/matrix_tile.glsl. Elements outside x and w count
// as zero.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
$if output_dtype == i8
#extension GL_KHR_shader_subgroup_vote : require
$end
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
${local_size(subgroups.workgroup)}
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
$include "lib/fixed_sizes.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"

const uint kVectors = ${step} / 16u;
const bool kAcrossRows = false;
$include "lib/matrix_tile.glsl"

// Rows past the last repeat it, and so do columns. Their results are not stored.
$if input_layout == packed_4h4w
// A vector of the buffer is a block: four bytes of four rows. Each invocation loads whole blocks, neighbours along k,
// and puts a word into each of the four rows. So each block is loaded once. If matrices of a batch end with rows of
// padding, four rows of the product may lie in two blocks. Then an invocation puts a vector together from four blocks.

// The rows of the tile, four together, and the block of the step that the i-th load of this invocation is.
uvec2 block_place(uint i) {
  const uvec2 place = input_place(i);
  return uvec2(place.x / 4u, place.x % 4u * kVectors + place.y);
}

// `row` and `vector` are those of input_place(i). Rows past the last repeat it. Blocks past the end of k may be any
// that exist: the weights are zero there.
uvec4 load_input(uint i, uint row, uint vector, uint end) {
  if (!${rows_are_blocks}) return vector < end ? input_vector(min(row, problem.m - 1u), vector) : uvec4(0u);
  const uint blocks = (K_SIZE + 3u) / 4u;  // of four rows
  const uint block = 4u * (vector - input_place(i).y) + block_place(i).y;
  return input_words[min(row, problem.m - 1u) / 4u * blocks + (${whole_steps} ? block : min(block, blocks - 1u))];
}

void put_input() {
  if (!${rows_are_blocks}) {
    put_down_input();
    return;
  }
  const uint kLanes = 4u / kWords;  // words of 32 bits, in an element of tile_words
  [[unroll]] for (uint i = 0u; i < kInputFetches; ++i) {
    const uvec2 place = block_place(i);
    if (kInputFetches * kInvocations == kRows * kVectors || 4u * place.x < kRows) {
      [[unroll]] for (uint row = 0u; row < 4u; ++row) {
        tile_words[(4u * place.x + row) * kPitch + place.y / kLanes][place.y % kLanes] = next_input[i][row];
      }
    }
  }
}
$else
uvec4 load_input(uint i, uint row, uint vector, uint end) {
  if (!${whole_steps} && vector >= end) return uvec4(0u);
$if is_aligned
  return input_words[min(row, problem.m - 1u) * (K_SIZE / 16u) + vector];
$else
  return input_vector(min(row, problem.m - 1u), vector);
$end
}
$end

uvec4 load_weight(uint column, uint vector, uint end) {
  if (!${whole_steps} && vector >= end) return uvec4(0u);
  return weight_words[min(column, N_SIZE - 1u) * ((K_SIZE + 15u) / 16u) + vector];
}

$if output_dtype != i32
$include "lib/linear_outputs.glsl" tile_columns
$end
$if output_dtype == i8
$if output_layout != packed_4h4w
$include "lib/int8_matrix_product.glsl" row_vectors
$end
$end
$include "lib/int8_matrix_product.glsl"

void main() {
  const uvec3 place = tile_of_workgroup();
  const uvec2 tile = place.xy * uvec2(kRows, kColumns);
  const uint slice = place.z;
  if (tile.x >= problem.m) return;
$if output_dtype == i32
  const uint begin = slice * (problem.slice_k / 16u);
  make_tile(tile, begin, min(begin + problem.slice_k / 16u, (problem.k + 15u) / 16u), slice * problem.m);
$else
  make_tile(tile, 0u, (K_SIZE + 15u) / 16u, 0u);
$end
}
