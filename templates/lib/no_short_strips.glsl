// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Of outputs without a short way: the has_stored_shortly() that lib/matrix_strips.glsl wants all the same.
bool has_stored_shortly(uint first, uvec2 corner, uint row_offset, Columns columns) { return false; }
