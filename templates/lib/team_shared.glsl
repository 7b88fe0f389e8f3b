// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() over a team of invocations that share a quantization block; its first member gets the result: `place` counts
// the members of one team after the other. Through shared memory, for any power of two up to the workgroup: runs
// everywhere. All invocations of the workgroup must call it.
$gives ivec2 team_max(ivec2 mine, uint team, uint place)

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
