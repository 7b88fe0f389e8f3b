// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Defines the struct Columns of lib/matrix_strips.glsl for weights with one scale per column. The sums of a column are
// multiplied by its scale.
$gives struct Columns
$gives Columns tile_columns_at(uint column)

struct Columns { vec4 scale; };

Columns tile_columns_at(uint column) {
  Columns columns;
  for (uint lane = 0u; lane < 4u; ++lane) columns.scale[lane] = weight_scales_data[min(column + lane, problem.n - 1u)];
  return columns;
}
