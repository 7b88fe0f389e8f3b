// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A matrix of tiles through shared memory, each row of a tile padded so that columns are read without conflicts.
#version 450
${extensions()}
layout(local_size_x = ${tile}, local_size_y = ${64 / tile}) in;
${declare(input)}
${declare(output)}
${declare_problem()}
$include "lib/common.glsl"
shared ${glsl_type(dtype)} tile_data[${tile}][${tile + padding}];

void main() {
  const uvec2 tile = gl_WorkGroupID.xy * ${tile};
  const uint plane = gl_WorkGroupID.z * problem.rows * problem.columns;
$for step in range(tile * tile / 64)
  {
    const uint row = gl_LocalInvocationID.y + ${step} * ${64 / tile}, column = gl_LocalInvocationID.x;
    if (tile.y + row < problem.rows && tile.x + column < problem.columns) {
      tile_data[row][column] = input_data[plane + place_in_matrix(tile.y + row, tile.x + column, problem.columns)];
    }
  }
$end
  barrier();
$for step in range(tile * tile / 64)
  {
    const uint row = gl_LocalInvocationID.y + ${step} * ${64 / tile}, column = gl_LocalInvocationID.x;
    if (tile.x + row < problem.columns && tile.y + column < problem.rows) {
$if operation == copy
      output_data[plane + place_in_matrix(tile.x + row, tile.y + column, problem.rows)] = tile_data[column][row];
$else
      const uint at = plane + place_in_matrix(tile.x + row, tile.y + column, problem.rows);
      output_data[at] = ${glsl_type(dtype)}(problem.alpha * float(tile_data[column][row]) + float(output_data[at]));
$end
    }
  }
$end
}
