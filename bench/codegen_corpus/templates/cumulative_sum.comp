// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Running sums along rows: each invocation sums a run, the workgroup scans the runs.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
shared float totals[64];
float sum_before(float mine) {
  const float before = subgroupExclusiveAdd(mine), total = subgroupAdd(mine);
  if (subgroupElect()) totals[gl_SubgroupID] = total;
  barrier();
  float sum = before;
  for (uint i = 0u; i < gl_SubgroupID; ++i) sum += totals[i];
  barrier();
  return sum;
}
$else
shared float totals[${workgroup}];
float sum_before(float mine) {
  totals[gl_LocalInvocationIndex] = mine;
  for (uint reach = 1u; reach < ${workgroup}; reach *= 2u) {
    barrier();
    const float other = gl_LocalInvocationIndex >= reach ? totals[gl_LocalInvocationIndex - reach] : 0.0;
    barrier();
    totals[gl_LocalInvocationIndex] += other;
  }
  barrier();
  const float sum = totals[gl_LocalInvocationIndex] - mine;
  barrier();
  return sum;
}
$end

void main() {
  const uint row = workgroup_index();
  if (row >= problem.rows) return;
  float carried = 0.0;
  for (uint first = 0u; first < problem.columns; first += ${items * vec} * ${workgroup}) {
    const uint begin = first + gl_LocalInvocationIndex * ${items * vec};
    float run[${items * vec}];
    float sum = 0.0;
$for item in range(items * vec)
    sum += begin + ${item} < problem.columns ? float(input_data[row * problem.columns + begin + ${item}]) : 0.0;
    run[${item}] = sum;
$end
    const float before = carried + sum_before(sum);
    for (uint i = 0u; i < ${items * vec} && begin + i < problem.columns; ++i) {
      output_data[row * problem.columns + begin + i] = ${glsl_type(dtype)}(before + run[i]);
    }
    if (gl_LocalInvocationIndex == ${workgroup} - 1u) totals[0] = before + sum;
    barrier();
    carried = totals[0];
    barrier();
  }
}
