// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Strips of lib/matrix_strips.glsl, four sums after four. The includer says
//
//   store_outputs(row, column, sums, columns)
void begin_strip(uvec2 corner, uint row_offset) {}

void store_strip(uint first, uvec2 corner, uint row_offset, Columns columns) {
  for (uint at = gl_SubgroupInvocationID; at < ${matrix.m}u * kStripVectors; at += gl_SubgroupSize) {
    const uint row = corner.x + at / kStripVectors;
    if (is_output(row, corner.y)) store_outputs(row + row_offset, corner.y, sums_at(first + strip_word(at)), columns);
  }
}
