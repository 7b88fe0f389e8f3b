// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums and maxima over a row that a workgroup owns.
$if reduce == subgroup
#extension GL_KHR_shader_subgroup_arithmetic : require
shared float partial[64];
float sum_of_row(float mine) {
  mine = subgroupAdd(mine);
  if (subgroupElect()) partial[gl_SubgroupID] = mine;
  barrier();
  float sum = 0.0;
  for (uint i = 0u; i < gl_NumSubgroups; ++i) sum += partial[i];
  barrier();
  return sum;
}
float largest_of_row(float mine) {
  mine = subgroupMax(mine);
  if (subgroupElect()) partial[gl_SubgroupID] = mine;
  barrier();
  float largest = -kLargest;
  for (uint i = 0u; i < gl_NumSubgroups; ++i) largest = max(largest, partial[i]);
  barrier();
  return largest;
}
$else
shared float partial[${workgroup}];
float sum_of_row(float mine) {
  partial[gl_LocalInvocationIndex] = mine;
  for (uint half_width = ${workgroup} / 2u; half_width > 0u; half_width /= 2u) {
    barrier();
    if (gl_LocalInvocationIndex < half_width) {
      partial[gl_LocalInvocationIndex] += partial[gl_LocalInvocationIndex + half_width];
    }
  }
  barrier();
  const float sum = partial[0];
  barrier();
  return sum;
}
float largest_of_row(float mine) {
  partial[gl_LocalInvocationIndex] = mine;
  for (uint half_width = ${workgroup} / 2u; half_width > 0u; half_width /= 2u) {
    barrier();
    if (gl_LocalInvocationIndex < half_width) {
      const float other = partial[gl_LocalInvocationIndex + half_width];
      partial[gl_LocalInvocationIndex] = max(partial[gl_LocalInvocationIndex], other);
    }
  }
  barrier();
  const float largest = partial[0];
  barrier();
  return largest;
}
$end

float sum_of_lanes(${glsl_type(f32, vec)} x) {
$if vec == 1
  return x;
$else
  return dot(x, ${glsl_type(f32, vec)}(1.0));
$end
}
float largest_of_lanes(${glsl_type(f32, vec)} x) {
$if vec == 1
  return x;
$else
  float largest = x[0];
$for lane in range(vec - 1)
  largest = max(largest, x[${lane + 1}]);
$end
  return largest;
$end
}

// The row's elements that this invocation has, `items` at a time.
const uint kStep = ${items} * ${workgroup};
uint row_vectors() { return problem.columns / ${vec}; }
uint row_begin() { return workgroup_index() * row_vectors(); }
