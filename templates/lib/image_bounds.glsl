// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where the image `input` ends.
bool is_inside(ivec2 at) { return all(lessThan(uvec2(at), uvec2(problem.input_sides[0], problem.input_sides[1]))); }
