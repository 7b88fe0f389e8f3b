// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How invocations divide an im2col matrix, whose rows are pixels and whose columns are units of channels. A box is
// sixteen rows by four units, for 64 neighbouring invocations. So they move whole sectors, both if the channels of a
// pixel are adjacent and if its pixels are.
$include "lib/grid.glsl"
$gives uvec2 row_and_unit(uint units)

// The row and the unit of this invocation. The last boxes reach past both ends.
uvec2 row_and_unit(uint units) {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const uint across = (units + 3u) / 4u;
  return uvec2(index / 64u / across * 16u + index % 64u / 4u, index / 64u % across * 4u + index % 4u);
}
