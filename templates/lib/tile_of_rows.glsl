// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shared memory for the row positions of lib/conv_rows.glsl, in kernels without the tile of lib/matrix_tile.glsl. With
// lib/matrix_tile.glsl the tile itself holds it until the first step.
$needs const uint kRows
$gives void put_row(uint row, ivec4 place)
$gives ivec4 row_at(uint row)

shared ivec4 tile_rows[kRows];
void put_row(uint row, ivec4 place) { tile_rows[row] = place; }
ivec4 row_at(uint row) { return tile_rows[row]; }
