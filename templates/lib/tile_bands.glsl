// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The row and column of this workgroup's tile of kRows rows, and the index of its product if several share a grid. The
// grid is [rows of a band, columns, bands of all products], so that tiles that run at one time share what they read, as
// in lib/tile_order.glsl; but nothing is divided where there is one product, which would take as long as a short
// kernel's multiplications. Of a band that is shorter than others the last row has no tile.
$include "lib/matrix_tile.glsl"
$gives uvec3 tile_of_workgroup()

uvec3 tile_of_workgroup() {
  const uint bands = ((problem.m + kRows - 1u) / kRows + 7u) / 8u;
  uint band = gl_WorkGroupID.z, product = 0u;
  if (gl_NumWorkGroups.z != bands) {
    product = band / bands;
    band -= product * bands;
  }
  return uvec3(band * gl_NumWorkGroups.x + gl_WorkGroupID.x, gl_WorkGroupID.y, product);
}
