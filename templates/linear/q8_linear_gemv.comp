// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A linear layer of few rows: what counts is to read w once, and fast. A team of invocations makes four columns of
// every row; each walks k in vectors of sixteen bytes, a team apart, and multiplies a vector of w with that of every
// row of x. `unroll` steps are fetched before the first is used, so that enough reads are on their way.
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

// One part a member of the team that has something to add: [part][row].
$if reduce == subgroup
shared ivec4 partial_sums[${group.workgroup} / 4u * ${rows}];  // subgroups of four and more
$else
shared ivec4 partial_sums[${group.workgroup} * ${rows}];
$end

ivec4 sums[${rows}];

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

$if reduce == subgroup
// Leaves the sums of the team `own` in `parts` parts from `first` on.
void share(uint own, out uint first, out uint parts) {
  parts = ${group.team} / gl_SubgroupSize;
  first = own * parts;
  [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) {
    const ivec4 sum = subgroupAdd(sums[r]);
    if (subgroupElect()) partial_sums[gl_SubgroupID * ${rows}u + r] = sum;
  }
  barrier();
}
$else
void share(uint own, out uint first, out uint parts) {
  const uint lane = gl_LocalInvocationIndex % ${group.team};
  [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) partial_sums[gl_LocalInvocationIndex * ${rows}u + r] = sums[r];
  barrier();
  for (uint reach = ${group.team} / 2u; reach > 0u; reach /= 2u) {
    if (lane < reach) {
      [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) {
        partial_sums[gl_LocalInvocationIndex * ${rows}u + r] +=
            partial_sums[(gl_LocalInvocationIndex + reach) * ${rows}u + r];
      }
    }
    barrier();
  }
  first = own * ${group.team};
  parts = 1u;
}
$end

void main() {
  const uint own = gl_LocalInvocationIndex / ${group.team};
  const uint lane = gl_LocalInvocationIndex % ${group.team};
  const uint column = 4u * (workgroup_index() * kTeams + own);
  [[unroll]] for (uint r = 0u; r < ${rows}u; ++r) sums[r] = ivec4(0);
  if (column < problem.n) walk(column, lane);

  uint first, parts;
  share(own, first, parts);
  for (uint row = lane; row < min(problem.m, ${rows}u); row += ${group.team}) {
    ivec4 sum = ivec4(0);
    for (uint part = first; part < first + parts; ++part) sum += partial_sums[part * ${rows}u + row];
    if (column < problem.n) store_outputs(row, column, sum, columns_at(column));
  }
}
