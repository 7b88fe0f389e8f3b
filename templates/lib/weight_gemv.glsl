// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Few rows of activations times an integer weight, by teams of invocations (GEMV). A team multiplies `columns` rows of
// the weight. Each member reads 16-byte loads of these rows, a team apart, and the activations that belong to them. At
// the end the sums of the team are added up.
$include "lib/grid.glsl"
$include "lib/linear_finish.glsl"
$include "lib/store_real.glsl"
// Adds one load of each of the team's columns to sums[].
$needs void accumulate(uint first_m, uint column, uint load)
$needs void begin_rows(uint first_m, uint column)  // all invocations call it, and fetch what they want to know
$needs uint loads_per_row()
$needs vec4 of_row(vec4 total, uint m)  // four sums of a row, before the part of linear_finish.glsl
$gives SUM
$gives const uint kSums

#define SUM vec4
const uint kSums = ${rows} * ${columns} / 4u;  // [row of activations][four columns]
$include "lib/gemv_totals.glsl"

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
