// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Strips of sums (lib/matrix_strips.glsl) that become int8 in the short way of lib/linear_outputs.glsl. Whether they do
// is decided once a strip, for all that the subgroup has of it: a branch for each four outputs hinders the compiler. The
// includer says
//
//   store_integers(row, column, q)      q as quantized_outputs() gives it
void store_short_strip(uint first, uvec2 corner, uint row_offset, Columns columns, bool is_exact) {
  for (uint at = gl_SubgroupInvocationID; at < ${matrix.m}u * kStripVectors; at += gl_SubgroupSize) {
    const ivec4 q = short_outputs(short_sums(sums_at(first + strip_word(at)), columns, is_exact), columns);
    const uint row = corner.x + at / kStripVectors;
    if (is_output(row, corner.y)) store_integers(row + row_offset, corner.y, q);
  }
}

bool has_stored_shortly(uint first, uvec2 corner, uint row_offset, Columns columns) {
  if (!subgroupAll(columns.is_short)) return false;
  if (problem.k <= kExactDepth) store_short_strip(first, corner, row_offset, columns, true);
  else store_short_strip(first, corner, row_offset, columns, false);
  return true;
}
