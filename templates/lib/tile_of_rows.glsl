// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where lib/conv_rows.glsl keeps what it found out of each row of a tile, in a kernel whose tile lies elsewhere. With
// lib/matrix_tile.glsl the tile itself holds it until the first step.
shared ivec4 tile_rows[kRows];
void put_row(uint row, ivec4 place) { tile_rows[row] = place; }
ivec4 row_at(uint row) { return tile_rows[row]; }
