// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// c = quantize(dequantize(a) * dequantize(b)), b with a scale for each column
#version 450
${extensions()}
${declare(a)}
${declare(b)}
${declare(b_scale)}
${declare(c)}
${declare_problem()}
$include "lib/common.glsl"
float load_a(uint row, uint column) {
  return dequantize(int(a_data[place_in_matrix(row, column, problem.k)]), 1.0, problem.a_zero_point);
}
float load_b(uint row, uint column) {
  return dequantize(int(b_data[place_in_matrix(row, column, problem.n)]), b_scale_data[column], 0);
}
void finish(uint row, uint column, float sum) {
  const int q = quantize(sum * problem.a_scale, problem.c_scale, problem.c_zero_point, problem.low, problem.high);
  c_data[place_in_matrix(row, column, problem.n)] = ${glsl_type(dtype)}(q);
}
$include "lib/tile_matmul.glsl"

void main() { multiply_tile(); }
