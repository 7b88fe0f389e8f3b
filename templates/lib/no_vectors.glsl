// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The empty functions that lib/int8_strips.glsl needs for outputs that are not in row-major order.
bool have_vectors() { return false; }
uvec4 residual_vector(uint row, uint column) { return uvec4(0u); }
void store_vector(uint row, uint column, uvec4 vector) {}
