// The largest element of a row. A workgroup goes through a row, each invocation in strides of the workgroup's size.
#version 450
${extensions()}
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
$end
${local_size(workgroup)}
${declare(input, 1)}
${declare(output, 1)}
${declare_problem()}
$include "lib/grid.glsl"

const float kLeast = -1.0 / 0.0;
shared float values[${workgroup}];

$if reduce == shared
// Half of the invocations take the larger of two values, then half of these, and so on.
float largest(float mine) {
  const uint place = gl_LocalInvocationIndex;
  values[place] = mine;
  barrier();
  for (uint distance = ${workgroup} / 2u; distance > 0u; distance /= 2u) {
    if (place < distance) values[place] = max(values[place], values[place + distance]);
    barrier();
  }
  return values[0];
}
$else
// Each subgroup finds its largest value. Then every invocation compares the values of all subgroups.
float largest(float mine) {
  const float of_subgroup = subgroupMax(mine);
  if (subgroupElect()) values[gl_SubgroupID] = of_subgroup;
  barrier();
  float all = kLeast;
  for (uint i = 0u; i < gl_NumSubgroups; ++i) all = max(all, values[i]);
  return all;
}
$end

void main() {
  const uint row = workgroup_index();   // the same for all invocations, so that all reach each barrier
  if (row >= problem.rows) return;
  float mine = kLeast;
  for (uint k = gl_LocalInvocationIndex; k < problem.columns; k += ${workgroup}) {
    const float x = float(input_data[row * problem.columns + k]);
    if (x > mine) mine = x;
  }
  const float all = largest(mine);
  if (gl_LocalInvocationIndex == 0u) output_data[row] = all * problem.scale;
}
