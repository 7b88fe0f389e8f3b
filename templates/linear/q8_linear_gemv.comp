// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An int8 linear layer of few rows. Its time is the time of reading w once. A team of invocations computes four columns
// of every row. Each invocation goes through k in vectors of sixteen bytes, a team apart, and multiplies a vector of w
// with that of every row of x. It fetches `unroll` steps before it uses the first, so that enough loads are in flight.
//
//   reduce  subgroup: sums are joined by subgroups first; shared: through shared memory alone
//   dot     packed: integer dot products of the device; scalar: multiplications
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
$if dot == packed
#extension GL_EXT_integer_dot_product : require
$end
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(group.workgroup)}
${declare(weight_sums)}
${declare(weight_scales)}
${declare(bias)}
${declare(output)}
${declare_problem()}
${declare_words(weight, 4)}
$include "lib/grid.glsl"
$include "lib/linear_input.glsl"
$include "lib/linear_epilogue.glsl"
$include "lib/dot4.glsl"

const uint kTeams = ${group.workgroup} / ${group.team};

#define SUM ivec4
const uint kSums = ${rows}u;
$include "lib/weight_gemv.glsl" totals

void walk(uint column, uint lane) {
  const uint vectors = (problem.k + 15u) / 16u;
  for (uint first = lane; first < vectors; first += ${group.team} * ${unroll}) {
    uvec4 w[${unroll}][4];
    [[unroll]] for (uint u = 0u; u < ${unroll}; ++u) {
      const uint vector = first + u * ${group.team};
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        const uint n = min(column + c, problem.n - 1u);
        w[u][c] = vector < vectors ? weight_words[n * vectors + vector] : uvec4(0u);
      }
    }
    [[unroll]] for (uint u = 0u; u < ${unroll}; ++u) {
      const uint vector = min(first + u * ${group.team}, vectors - 1u);
      [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) {
        const uvec4 x = input_vector(min(r, problem.m - 1u), vector);
        sums[r] += ivec4(dot16(x, w[u][0]), dot16(x, w[u][1]), dot16(x, w[u][2]), dot16(x, w[u][3]));
      }
    }
  }
}

void main() {
  const uint own = gl_LocalInvocationIndex / ${group.team};
  const uint lane = gl_LocalInvocationIndex % ${group.team};
  const uint column = 4u * (workgroup_index() * kTeams + own);
  [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) sums[r] = ivec4(0);
  if (column < problem.n) walk(column, lane);

  const Parts parts = share(own);
  for (uint row = lane; row < min(problem.m, ${rows}u); row += ${group.team}) {
    const ivec4 total = total_of(row, parts);
    if (column < problem.n) store_outputs(row, column, total, columns_at(column));
  }
}
