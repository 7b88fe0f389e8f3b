// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures cooperative matrices: a subgroup keeps four sums, of one pair of factors each. All sums are stored at the
// end, so that the compiler cannot remove them. It is not defined which invocation holds which element of a matrix, so
// each adds up its elements.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
$if types.factor == i8
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
$else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
$end
${local_size(workgroup)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"

$if types.factor == i8
#define FACTOR int8_t
#define ELEMENT int
$else
#define FACTOR float16_t
#define ELEMENT float
$end
#define SUM coopmat<ELEMENT, gl_ScopeSubgroup, ${matrix.m}, ${matrix.n}, gl_MatrixUseAccumulator>

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA> a[4];
  coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB> b =
      coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.k}, ${matrix.n}, gl_MatrixUseB>(FACTOR(problem.steps & 1u));
  SUM sums[4];
  for (uint chain = 0u; chain < 4u; ++chain) {
    a[chain] = coopmat<FACTOR, gl_ScopeSubgroup, ${matrix.m}, ${matrix.k}, gl_MatrixUseA>(FACTOR(chain));
    sums[chain] = SUM(0);
  }
  for (uint step = 0u; step < problem.steps; ++step) {
    for (uint chain = 0u; chain < 4u; ++chain) sums[chain] = coopMatMulAdd(a[chain], b, sums[chain]);
  }
  ELEMENT sum = ELEMENT(0);
  for (uint chain = 0u; chain < 4u; ++chain) {
    for (uint element = 0u; element < sums[chain].length(); ++element) sum += sums[chain][element];
  }
  output_data[i] = float(sum);
}
