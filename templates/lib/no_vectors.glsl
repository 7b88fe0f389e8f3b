// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Of bytes that do not lie in the order of a row's outputs: what lib/int8_strips.glsl wants all the same.
bool have_vectors() { return false; }
uvec4 residual_vector(uint row, uint column) { return uvec4(0u); }
void store_vector(uint row, uint column, uvec4 vector) {}
