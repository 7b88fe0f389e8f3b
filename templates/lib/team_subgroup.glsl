// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() over a team that is the whole workgroup; its first invocation gets the result: in subgroups, then over one
// value of each. It does not assume how invocations are assigned to subgroups, or that subgroups are full.
$gives ivec2 team_max(ivec2 mine, uint team, uint place)

shared ivec2 subgroup_values[${workgroup}];

ivec2 team_max(ivec2 mine, uint team, uint place) {
  const ivec2 of_subgroup = subgroupMax(mine);
  if (subgroupElect()) subgroup_values[gl_SubgroupID] = of_subgroup;
  barrier();
  ivec2 all = ivec2(0);
  if (gl_LocalInvocationIndex == 0u) {
    for (uint s = 0u; s < gl_NumSubgroups; ++s) all = max(all, subgroup_values[s]);
  }
  return all;
}
