// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of matmul/matmul_plain.comp for few rows of `input`. Its time is the time of reading `other` once. With each
// load of `other`, an invocation reads the inputs to multiply it with; all teams find them in a cache.
//
//   transposed  1: other is [b, n, k]: a load of a team is 16 bytes of each of its columns, along k
//               0: other is [b, k, n]: it is what a row has of the team's columns, which lie side by side
//   reduce      subgroup: sums are joined by subgroups first; shared: through shared memory alone
//   halves      native: the device converts f16, and keeps what is subnormal; bits: lib/float16.glsl does
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
$include "lib/unpack_vector.glsl" native_halves
$end
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"
$include "lib/batch_matrices.glsl"

const uint kPerLoad = ${16 / bytes(input_dtype)}u;
const uint kQuads = kPerLoad / 4u;
const bool kIsTransposed = ${transposed} == 1;

uint row_vectors() { return problem.k / kPerLoad; }
uint loads_per_row() { return kIsTransposed ? row_vectors() : problem.k; }

$include "lib/weight_gemv.glsl"

uvec2 first_vectors;  // of this batch's matrices

void begin_rows(uint first_m, uint column) { first_vectors = matrices_of(first_m / problem.matrix_rows) / kPerLoad; }

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

uvec4 input_vector(uint m, uint vector) {
  return input_words[first_vectors.x + min(m, problem.m - 1u) % problem.matrix_rows * row_vectors() + vector];
}

// A vector of each of the team's columns, times the vectors of `input`.
void accumulate_vectors(uint first_m, uint column, uint vector) {
  uvec4 weights[${columns}];
  [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
    weights[c] = other_words[first_vectors.y + min(column + c, problem.n - 1u) * row_vectors() + vector];
  }
  [[unroll]] for (uint m = 0u; m < ${rows}; ++m) {
    const uvec4 met = input_vector(first_m + m, vector);
    [[unroll]] for (uint quad = 0u; quad < kQuads; ++quad) {
      const vec4 x = quad_of(met, quad);
      [[unroll]] for (uint c = 0u; c < ${columns}; ++c) {
        sums[(m * ${columns} + c) / 4u][c % 4u] += dot(x, quad_of(weights[c], quad));
      }
    }
  }
}

// Row k's elements in the team's columns, times an element of each row of `input`.
void accumulate_row(uint first_m, uint column, uint k) {
  const uint vectors = problem.n / kPerLoad;
  vec4 weights[${columns} / 4u];
  [[unroll]] for (uint quad = 0u; quad < ${columns} / 4u; ++quad) {
    const uint place = column / 4u + quad;
    const uint vector = min(place / kQuads, vectors - 1u);
    weights[quad] = quad_of(other_words[first_vectors.y + k * vectors + vector], place % kQuads);
  }
  [[unroll]] for (uint m = 0u; m < ${rows}; ++m) {
    const float x = quad_of(input_vector(first_m + m, k / kPerLoad), k % kPerLoad / 4u)[k % 4u];
    [[unroll]] for (uint quad = 0u; quad < ${columns} / 4u; ++quad) {
      sums[m * ${columns} / 4u + quad] += x * weights[quad];
    }
  }
}

void accumulate(uint first_m, uint column, uint load) {
  if (kIsTransposed) {
    accumulate_vectors(first_m, column, load);
  } else {
    accumulate_row(first_m, column, load);
  }
}

vec4 of_row(vec4 total, uint m) { return total; }
