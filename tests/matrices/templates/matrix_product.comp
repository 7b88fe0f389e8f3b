// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A workgroup is one subgroup and makes tile.rows x tile.columns shapes of c. Slices of a and b, `unroll` shapes deep,
// pass through shared memory.
#version 450
${extensions()}
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
${local_size(workgroup)}
${declare(a)}
${declare(b)}
${declare(c)}
${declare_problem()}

const uint kDepth = ${shape.k} * ${unroll};
const uint kRows = ${shape.m} * ${tile.rows};
const uint kColumns = ${shape.n} * ${tile.columns};

shared int8_t a_slice[kRows * kDepth];
shared int8_t b_slice[kDepth * kColumns];

#define FACTOR_A coopmat<int8_t, gl_ScopeSubgroup, ${shape.m}, ${shape.k}, gl_MatrixUseA>
#define FACTOR_B coopmat<int8_t, gl_ScopeSubgroup, ${shape.k}, ${shape.n}, gl_MatrixUseB>
#define SUM coopmat<int, gl_ScopeSubgroup, ${shape.m}, ${shape.n}, gl_MatrixUseAccumulator>

SUM sums[${tile.rows}][${tile.columns}];

void stage(uint first_row, uint first_column, uint first_depth) {
  for (uint i = gl_LocalInvocationIndex; i < kRows * kDepth; i += ${workgroup}) {
    a_slice[i] = a_data[(first_row + i / kDepth) * problem.k + first_depth + i % kDepth];
  }
  for (uint i = gl_LocalInvocationIndex; i < kDepth * kColumns; i += ${workgroup}) {
    b_slice[i] = b_data[(first_depth + i / kColumns) * problem.n + first_column + i % kColumns];
  }
}

void multiply(uint depth) {
  for (uint row = 0; row < ${tile.rows}; ++row) {
    FACTOR_A a;
    coopMatLoad(a, a_slice, row * ${shape.m} * kDepth + depth, kDepth, gl_CooperativeMatrixLayoutRowMajor);
    for (uint column = 0; column < ${tile.columns}; ++column) {
      FACTOR_B b;
      coopMatLoad(b, b_slice, depth * kColumns + column * ${shape.n}, kColumns, gl_CooperativeMatrixLayoutRowMajor);
      sums[row][column] = coopMatMulAdd(a, b, sums[row][column]);
    }
  }
}

void main() {
  const uint first_row = gl_WorkGroupID.y * kRows;
  const uint first_column = gl_WorkGroupID.x * kColumns;
  for (uint row = 0; row < ${tile.rows}; ++row) {
    for (uint column = 0; column < ${tile.columns}; ++column) sums[row][column] = SUM(0);
  }
  for (uint depth = 0; depth < problem.k; depth += kDepth) {
    stage(first_row, first_column, depth);
    barrier();
$for step in range(unroll)
    multiply(${step} * ${shape.k});
$end
    barrier();
  }
  for (uint row = 0; row < ${tile.rows}; ++row) {
    for (uint column = 0; column < ${tile.columns}; ++column) {
      const uint first = (first_row + row * ${shape.m}) * problem.n + first_column + column * ${shape.n};
      coopMatStore(sums[row][column], c_data, first, problem.n, gl_CooperativeMatrixLayoutRowMajor);
    }
  }
}
