// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of matmul/matmul_plain.comp for few rows of `input`, where rows of `other` lie along k: what counts is to
// read them once, and fast. The elements of `input` that a load meets are read beside it; all teams find them in a
// cache.
//
//   reduce  subgroup: sums are joined by subgroups first; shared: through shared memory alone
//   halves  native: the device converts f16, and keeps what is subnormal; bits: lib/float16.glsl does
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(group.workgroup)}
${declare_words(input, 4)}
${declare_words(other, 4)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$if halves == native
$include "lib/native_halves.glsl"
$end
$include "lib/store_real.glsl"
$include "lib/linear_finish.glsl"
$include "lib/batch_matrices.glsl"

const uint kPerLoad = ${16 / bytes(input_dtype)}u;
const uint kQuads = kPerLoad / 4u;

uint loads_per_row() { return problem.k / kPerLoad; }

$include "lib/weight_gemv.glsl"

uvec2 first_loads;  // of this batch's matrices

void begin_rows(uint first_m) { first_loads = matrices_of(first_m / problem.matrix_rows) / kPerLoad; }

// Four elements of a load.
vec4 quad_of(uvec4 load, uint quad) {
$if input_dtype == f32
  return unpack_f32(load);
$elif halves == native
  return unpack_native_f16(quad == 0u ? load.xy : load.zw);
$else
  return unpack_f16(quad == 0u ? load.xy : load.zw);
$end
}

// One load of each of the team's columns, against the elements of `input` that it meets.
void accumulate(uint first_m, uint column, uint load) {
  uvec4 weights[${columns}];
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    const uint n = min(column + c, problem.n - 1u);
    weights[c] = other_words[first_loads.y + n * loads_per_row() + load];
  }
  [[unroll]] for (uint m = 0u; m < ${rows}; ++m) {
    const uint row = min(first_m + m, problem.m - 1u) % problem.matrix_rows;
    const uvec4 met = input_words[first_loads.x + row * loads_per_row() + load];
    [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) {
      const vec4 x = quad_of(met, quad);
      [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
        sums[(m * ${columns} + c) / 4u][c % 4u] += dot(x, quad_of(weights[c], quad));
      }
    }
  }
}

vec4 of_row(vec4 total, uint m) { return total; }
