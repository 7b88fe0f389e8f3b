// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() over the `team` neighbouring invocations that share a block, given to the first of them. Through shared memory,
// for any power of two up to the workgroup: runs everywhere. All invocations of the workgroup must call it.
shared ivec2 team_values[${workgroup}];

ivec2 team_max(ivec2 mine, uint team) {
  if (team == 1u) return mine;
  const uint self = gl_LocalInvocationIndex;
  team_values[self] = mine;
  barrier();
  for (uint distance = team / 2u; distance > 0u; distance /= 2u) {
    if (self % team < distance) team_values[self] = max(team_values[self], team_values[self + distance]);
    barrier();
  }
  return team_values[self];
}
