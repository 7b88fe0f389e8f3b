// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() over a team of invocations that share a quantization block; its first member gets the result. `place` counts
// the members of one team after the other. All invocations of the workgroup must call it.
//
// By default through shared memory, for any power of two up to the workgroup: runs everywhere. With TEAM_IS_WORKGROUP
// the team is the whole workgroup: max() in subgroups, then over one value of each. It does not assume how invocations
// are assigned to subgroups, or that subgroups are full.
$gives ivec2 team_max(ivec2 mine, uint team, uint place)

#ifdef TEAM_IS_WORKGROUP
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
#else
shared ivec2 team_values[${workgroup}];

ivec2 team_max(ivec2 mine, uint team, uint place) {
  if (team == 1u) return mine;
  team_values[place] = mine;
  barrier();
  for (uint distance = team / 2u; distance > 0u; distance /= 2u) {
    if (place % team < distance) team_values[place] = max(team_values[place], team_values[place + distance]);
    barrier();
  }
  return team_values[place];
}
#endif
