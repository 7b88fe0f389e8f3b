// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The greatest element or the mean under each output position of a floating-point pool. docs/pool.md is the bit-exact
// definition. An invocation computes one output element, and goes through the window's taps row by row. Image and
// channel are one number, at.z.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/float16.glsl"
$include "lib/float32.glsl"
$include "lib/real_elements.glsl" load
$include "lib/real_elements.glsl" store

const uint kDilationDividers = 2u;
$include "lib/pool_window.glsl"


float before_taps() { return ${takes_mean} ? 0.0 : -1.0 / 0.0; }

float joined(float all, float x) {
  if (!${takes_mean}) return is_nan(x) || (x > all && !is_nan(all)) ? x : all;
  precise const float sum = flush_subnormal(all + x);
  return sum;
}

float finished(float all, uvec4 at) {
  if (!${takes_mean}) return all;
  precise const float mean = flush_product(all * reciprocal_at(at));
  return mean;
}

void main() {
  const uint element = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (element >= problem.numel) return;
  const uvec2 row = divided(element, 0u);
  const uvec2 plane = divided(row.x, 1u);
  const uvec4 at = uvec4(row.y, plane.y, plane.x, 0u);
  const uvec2 columns = taps_inside(0u, at.x), rows = taps_inside(1u, at.y);
  float all = before_taps();
  for (uint y = 0u; y < rows.y; ++y) {
    const uint line = (at.z * problem.input_sides[1] + rows.x + y * problem.dilation[1]) * problem.input_sides[0];
    for (uint x = 0u; x < columns.y; ++x)
      all = joined(all, flush_subnormal(load_real(line + columns.x + x * problem.dilation[0])));
  }
  store_real(element, finished(all, at));
}
