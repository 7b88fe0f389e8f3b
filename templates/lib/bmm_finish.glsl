// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of integer matrix products. It computes an output from three sums over k: of the products of integers,
// of the integers of `input`, and of those of `other`. docs/fused.md has the formula. It also shows that 64 bits are
// enough.
$include "lib/bmm_matrices.glsl"
$include "lib/wide.glsl"
$include "lib/affine.glsl"
$gives void finish(Matrices at, uint batch, uint m, uint n, uvec2 products, uvec2 inputs, uvec2 others)

// Sum over k of (a - z) * (b - w) from the sums of a * b, of a and of b.
uvec2 without_zero_points(uvec2 products, uvec2 inputs, uvec2 others, uvec2 z, uvec2 w) {
  const uvec2 of_z = wide_multiply(z, wide_subtract(wide_multiply(uvec2(problem.k, 0u), w), others));
  return wide_add(products, wide_subtract(of_z, wide_multiply(w, inputs)));
}

void finish(Matrices at, uint batch, uint m, uint n, uvec2 products, uvec2 inputs, uvec2 others) {
  const uint input_parameter = input_parameter_of(at, m);
  const uint other_parameter = other_parameter_of(at, n);
  const int input_zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, input_parameter);
  const int other_zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, other_parameter);
  const uvec2 z = wide_subtract(widened(input_zero_point), uvec2(problem.input_flip, 0u));
  const uvec2 w = wide_subtract(widened(other_zero_point), uvec2(problem.other_flip, 0u));
  const float sum = wide_to_float(without_zero_points(products, inputs, others, z, w));
  const float input_scale = flush_subnormal(input_scale_data[input_parameter]);
  precise const float scale = input_scale * flush_subnormal(other_scale_data[other_parameter]);
  precise const float y = sum * flush_product(scale);  // an integer: no product is below the scale
  store_output((batch * problem.m + m) * problem.n + n, y, output_parameter_of(at, m, n));
}
