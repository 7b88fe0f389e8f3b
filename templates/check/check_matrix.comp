// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Products of cooperative matrices, as kernels compute them: factors from shared memory at several offsets, initial sums
// from a buffer with a stride of 0, the result to shared memory. Then the same with factors from the buffer.
// runtime/engine/self_test/matrix_check.cpp has the inputs and the results.
//
// The input, in vectors of sixteen bytes: for each tile 16 rows of A, then for each tile 16 columns of B, then for each
// tile the initial sums of 16 columns. A row or a column has kPitch vectors.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
$if types.factor == i8
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
$else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
$end
${local_size(workgroup)}
${declare(input, 4)}
${declare(output)}
${declare_problem()}

$if types.factor == i8
#define FACTOR int8_t
#define SUMS coopmat<int, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>
$else
#define FACTOR float16_t
#define SUMS coopmat<float, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>
$end
#define A coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA>
#define B coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB>

const uint kTiles = 4u;  // the most
const uint kSides = 16u;  // the most rows of A, and columns of B
const uint kPitch = 5u;
const uint kTile = kSides * kPitch;
const uint kSumVectors = kSides / 4u;
shared uvec4 factors[2u * kTiles * kTile];
shared uvec4 results[kSides * kSumVectors];

void multiply(uint tile, bool from_shared) {
  const uint b_begin = problem.tiles * kTile;
  const uint a_at = tile * kTile, b_at = b_begin + (problem.tiles - 1u - tile) * kTile;
  A a;
  B b;
  SUMS sums;
  coopMatLoad(sums, input_data, 2u * b_begin + tile * kSumVectors, 0u, gl_CooperativeMatrixLayoutRowMajor);
  if (from_shared) {
    coopMatLoad(a, factors, a_at, kPitch, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, factors, b_at, kPitch, gl_CooperativeMatrixLayoutColumnMajor);
  } else {
    coopMatLoad(a, input_data, a_at, kPitch, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, input_data, b_at, kPitch, gl_CooperativeMatrixLayoutColumnMajor);
  }
  sums = coopMatMulAdd(a, b, sums);
  coopMatStore(sums, results, 0u, kSumVectors, gl_CooperativeMatrixLayoutRowMajor);
}

// The first subgroup multiplies. All invocations wait for it, and store.
void main() {
  for (uint i = gl_LocalInvocationIndex; i < 2u * problem.tiles * kTile; i += ${workgroup}) factors[i] = input_data[i];
  for (uint pass = 0u; pass < 2u * problem.tiles; ++pass) {
    barrier();
    if (gl_SubgroupID == 0u) multiply(pass / 2u, pass % 2u == 0u);
    barrier();
    const uint first = pass * (${matrix.m} * ${matrix.n});
    for (uint i = gl_LocalInvocationIndex; i < ${matrix.m} * ${matrix.n}; i += ${workgroup}) {
      const uint row = i / ${matrix.n}, column = i % ${matrix.n};
      output_data[first + i] = results[row * kSumVectors + column / 4u][column % 4u];
    }
  }
}
