// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, m, n] = sum over k of input[b, m, k] * other[b, k, n], in f32. Each operand may be integers with a scale
// and a zero point per block. The sum is computed in increasing k, and each product and each sum is rounded once, so
// the result has the reference's bits.
//
// 16 x 16 invocations compute a tile of 16 x 16 outputs, one each. They stage both operands as floats, 16 steps of k at
// a time.
//
//   modules own    made for their dtypes
//   modules any    the problem says the inputs' dtypes; for mixtures with integers of 16 or 32 bits, which are rare
#version 450
#extension GL_EXT_control_flow_attributes : require
${extensions()}
${local_size(256)}
${declare(input_scale)}
${declare(input_zero_point)}
${declare(other_scale)}
${declare(other_zero_point)}
${declare(output_scale)}
${declare(output_zero_point)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$if modules == own
$include "lib/bmm_own.glsl"
$else
$include "lib/bmm_any.glsl"
$end
$include "lib/bmm_matrices.glsl"
$include "lib/bmm_store.glsl"

const uint kTile = 16u;
const uint kStride = kTile + 1u;  // no two rows' elements of one column in one bank

shared float staged_input[kTile * kStride];  // [row][k]
shared float staged_other[kTile * kStride];  // [k][column]

float input_element(Matrices at, uint m, uint k) {
  if (m >= problem.m || k >= problem.k) return 0.0;
  const uint parameter = input_parameter_of(at, m) + k / problem.input_k_block * problem.input_k_step;
  return input_at(at.input_first + m * problem.k + k, parameter);
}

float other_element(Matrices at, uint k, uint n) {
  if (k >= problem.k || n >= problem.n) return 0.0;
  const uint parameter = other_parameter_of(at, n) + k / problem.other_k_block * problem.other_k_step;
  return other_at(at.other_first + k * problem.n + n, parameter);
}

float added(float sum, float x, float y) {
  precise const float product = x * y;
  precise const float next = sum + flush_product(product);
  return flush_subnormal(next);
}

void main() {
  const uvec2 tiles = (uvec2(problem.m, problem.n) + kTile - 1u) / kTile;
  const uint batch = workgroup_index() / (tiles.x * tiles.y);
  if (batch >= problem.batches) return;
  const uvec2 tile = uvec2(workgroup_index() / tiles.y % tiles.x, workgroup_index() % tiles.y);
  const uvec2 place = uvec2(gl_LocalInvocationIndex / kTile, gl_LocalInvocationIndex % kTile);
  const uint m = tile.x * kTile + place.x;
  const uint n = tile.y * kTile + place.y;
  const Matrices at = matrices_of(batch);

  float sum = 0.0;
  const uint end = problem.k;
  for (uint first = 0u; first < end; first += kTile) {
    barrier();
    staged_input[place.x * kStride + place.y] = input_element(at, m, first + place.y);
    staged_other[place.x * kStride + place.y] = other_element(at, first + place.x, n);
    barrier();
    [[unroll]] for (uint i = 0u; i < kTile; ++i) {  // past k nothing may be added: -0 + 0 is +0
      if (first + i >= end) continue;
      sum = added(sum, staged_input[place.x * kStride + i], staged_other[i * kStride + place.y]);
    }
  }
  if (m < problem.m && n < problem.n) {
    store_output((batch * problem.m + m) * problem.n + n, sum, output_parameter_of(at, m, n));
  }
}
