// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Few rows of activations times an integer weight, by teams of invocations (GEMV). A team multiplies `columns` rows of
// the weight. Each member reads 16-byte loads of these rows, a team apart, and the activations that belong to them. At
// the end the sums of the team are added up, by the part `totals`.
$include "lib/grid.glsl"
$include "lib/linear_finish.glsl"
$include "lib/real_elements.glsl" store
// Adds one load of each of the team's columns to sums[].
$needs void accumulate(uint first_m, uint column, uint load)
$needs void begin_rows(uint first_m, uint column)  // all invocations call it, and fetch what they want to know
$needs uint loads_per_row()
$needs vec4 of_row(vec4 total, uint m)  // four sums of a row, before the part of linear_finish.glsl
$gives SUM
$gives const uint kSums

#define SUM vec4
const uint kSums = ${rows} * ${columns} / 4u;  // [row of activations][four columns]
$include "lib/weight_gemv.glsl" totals

void begin_rows(uint first_m, uint column);
void accumulate(uint first_m, uint column, uint load);
vec4 of_row(vec4 total, uint m);

void main() {
  const uint kTeams = ${group.workgroup} / ${group.team};
  const uint groups_n = (problem.n + kTeams * ${columns} - 1u) / (kTeams * ${columns});
  const uint own = gl_LocalInvocationIndex / ${group.team};
  const uint lane = gl_LocalInvocationIndex % ${group.team};
  const uint first_m = workgroup_index() / groups_n * ${rows};
  const uint column = (workgroup_index() % groups_n * kTeams + own) * ${columns};

  [[unroll]] for (uint i = 0u; i < kSums; ++i) sums[i] = vec4(0.0);
  begin_rows(first_m, column);
  if (column < problem.n && first_m < problem.m) {
    for (uint load = lane; load < loads_per_row(); load += ${group.team}) accumulate(first_m, column, load);
  }

  const Parts parts = share(own);
  for (uint i = lane; i < kSums; i += ${group.team}) {
    const uint m = first_m + i / (${columns} / 4u);
    const uint n = column + i % (${columns} / 4u) * 4u;
    const vec4 total = of_row(total_of(i, parts), min(m, problem.m - 1u));
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      if (m < problem.m && n + c < problem.n) store_real(m * problem.n + n + c, finished(total[c], n + c));
    }
  }
}

$part totals
// Adds up the partial sums of a team of invocations that compute the same outputs. The including kernel defines the
// type of a sum and the number of sums of a member:
//
//   #define SUM ivec4                   a vector of sums
//   const uint kSums = 2u;
//
// Members fill sums[]; then all invocations call share(), and any of them total_of(), as often as it likes.
$needs SUM
$needs const uint kSums
$gives SUM sums
$gives Parts share(uint team)
$gives SUM total_of(uint i, Parts parts)
$gives struct Parts

SUM sums[kSums];

// One part a member of the team that has something to add: [part][sum].
$if reduce == subgroup
shared SUM partial_sums[${group.workgroup} / 4u * kSums];  // subgroups of four and more
$else
shared SUM partial_sums[${group.workgroup} * kSums];
$end

// Where the team's parts are.
struct Parts {
  uint first;
  uint end;
};

$if reduce == subgroup
Parts share(uint team) {
  [[unroll]] for (uint i = 0u; i < kSums; ++i) {
    const SUM sum = subgroupAdd(sums[i]);
    if (subgroupElect()) partial_sums[gl_SubgroupID * kSums + i] = sum;
  }
  barrier();
  const uint parts = ${group.team} / gl_SubgroupSize;
  return Parts(team * parts, (team + 1u) * parts);
}
$else
Parts share(uint team) {
  const uint self = gl_LocalInvocationIndex;
  [[unroll]] for (uint i = 0u; i < kSums; ++i) partial_sums[self * kSums + i] = sums[i];
  barrier();
  for (uint reach = ${group.team} / 2u; reach > 0u; reach /= 2u) {
    if (self % ${group.team} < reach) {
      [[unroll]] for (uint i = 0u; i < kSums; ++i) {
        partial_sums[self * kSums + i] += partial_sums[(self + reach) * kSums + i];
      }
    }
    barrier();
  }
  return Parts(team * ${group.team}, team * ${group.team} + 1u);
}
$end

SUM total_of(uint i, Parts parts) {
  SUM total = SUM(0);
  for (uint part = parts.first; part < parts.end; ++part) total += partial_sums[part * kSums + i];
  return total;
}
