// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where the int8 image `input` ends. What lies outside of it has its zero point.
bool is_inside(ivec2 at) { return all(lessThan(uvec2(at), uvec2(problem.input_sides[0], problem.input_sides[1]))); }
uint zero_point_word() { return uint(problem.input_zero_point & 0xff) * 0x01010101u; }
