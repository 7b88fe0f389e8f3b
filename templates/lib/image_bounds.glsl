// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bounds of the image `input`.
$gives bool is_inside(ivec2 at)

bool is_inside(ivec2 at) { return uint(at.x) < problem.input_sides[0] && uint(at.y) < problem.input_sides[1]; }
