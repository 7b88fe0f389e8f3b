// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The empty `Columns` that lib/matrix_strips.glsl needs for outputs whose columns share no values.
$gives struct Columns
$gives Columns columns_at(uint column)
$gives void load_columns(uint first)
$gives void put_columns()
$gives Columns tile_columns_at(uint column)

struct Columns { uint none; };
Columns columns_at(uint column) { return Columns(0u); }
void load_columns(uint first) {}
void put_columns() {}
Columns tile_columns_at(uint column) { return columns_at(column); }
