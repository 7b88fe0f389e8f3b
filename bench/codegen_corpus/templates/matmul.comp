// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// c = a * b
#version 450
${extensions()}
${declare(a)}
${declare(b)}
${declare(c)}
${declare_problem()}
$include "lib/common.glsl"
float load_a(uint row, uint column) { return float(a_data[place_in_matrix(row, column, problem.k)]); }
float load_b(uint row, uint column) { return float(b_data[place_in_matrix(row, column, problem.n)]); }
void finish(uint row, uint column, float sum) {
  c_data[place_in_matrix(row, column, problem.n)] = ${glsl_type(dtype)}(sum);
}
$include "lib/tile_matmul.glsl"

void main() { multiply_tile(); }
