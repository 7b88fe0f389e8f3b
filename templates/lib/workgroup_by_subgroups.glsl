// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() and sum over the values of a workgroup: in subgroups, then over one value of each. Each invocation gets the
// result, and all must call these functions. Nothing is assumed of how invocations are dealt out to subgroups, or that
// subgroups are full.
$gives int workgroup_max(int mine)
$gives float workgroup_sum(float mine)

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
shared int greatest_values[${workgroup}];
shared float sum_values[${workgroup}];

int workgroup_max(int mine) {
  const int of_subgroup = subgroupMax(mine);
  if (subgroupElect()) greatest_values[gl_SubgroupID] = of_subgroup;
  barrier();
  int all = of_subgroup;
  for (uint s = 0u; s < gl_NumSubgroups; ++s) all = max(all, greatest_values[s]);
  barrier();  // before another call writes there
  return all;
}

float workgroup_sum(float mine) {
  const float of_subgroup = subgroupAdd(mine);
  if (subgroupElect()) sum_values[gl_SubgroupID] = of_subgroup;
  barrier();
  float all = 0.0;
  for (uint s = 0u; s < gl_NumSubgroups; ++s) all += sum_values[s];
  barrier();
  return all;
}
