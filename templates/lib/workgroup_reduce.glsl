// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// max() and sum over the values of the invocations that compute a row together; each of them gets the result. These
// invocations are the row's members. All of them must call these functions.
//
//   reduce == shared     halves of the workgroup, then half of those: runs everywhere; the workgroup is a power of two
//   reduce == subgroup   in subgroups, then over one value of each. Nothing is assumed of how invocations are dealt out
//                        to subgroups, or that subgroups are full
//   reduce == held       as subgroup
//   reduce == team       the members of a row are a subgroup
//   reduce == part       the members of a row are neighbours in a subgroup; 2^row_shift() of them
//   reduce == native, streamed   as subgroup
//
// Kernels without a parameter `reduce` include the part `subgroups`.
$gives int workgroup_max(int mine)
$gives float workgroup_sum(float mine)
$gives uint row_shift()

$if reduce != shared
#extension GL_KHR_shader_subgroup_basic : require
$if reduce != part
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
$end
$if reduce == shared
shared int greatest_values[${workgroup}];
shared float sum_values[${workgroup}];
$end

$if reduce == team
int workgroup_max(int mine) { return subgroupMax(mine); }
float workgroup_sum(float mine) { return subgroupAdd(mine); }
$elif reduce == part
#extension GL_KHR_shader_subgroup_shuffle : require
// The binary logarithm of how many members a row has.
uint row_shift() {
  const uint needed = (problem.columns / ${16 / bytes(input_dtype)}u + ${vectors} - 1u) / ${vectors};
  return needed > 1u ? uint(findMSB(needed - 1u)) + 1u : 0u;
}
int workgroup_max(int mine) {
  const uint shift = row_shift();
  for (uint i = 0u; i < shift; ++i) mine = max(mine, subgroupShuffleXor(mine, 1u << i));
  return mine;
}
float workgroup_sum(float mine) {
  const uint shift = row_shift();
  for (uint i = 0u; i < shift; ++i) mine += subgroupShuffleXor(mine, 1u << i);
  return mine;
}
$elif reduce in (subgroup, held, native, streamed)
$include "lib/workgroup_reduce.glsl" subgroups
$else
int workgroup_max(int mine) {
  const uint place = gl_LocalInvocationIndex;
  greatest_values[place] = mine;
  barrier();
  for (uint distance = ${workgroup} / 2u; distance > 0u; distance /= 2u) {
    if (place < distance) greatest_values[place] = max(greatest_values[place], greatest_values[place + distance]);
    barrier();
  }
  const int all = greatest_values[0];
  barrier();  // before another call writes there
  return all;
}

float workgroup_sum(float mine) {
  const uint place = gl_LocalInvocationIndex;
  sum_values[place] = mine;
  barrier();
  for (uint distance = ${workgroup} / 2u; distance > 0u; distance /= 2u) {
    if (place < distance) sum_values[place] += sum_values[place + distance];
    barrier();
  }
  const float all = sum_values[0];
  barrier();
  return all;
}
$end

$part subgroups
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
