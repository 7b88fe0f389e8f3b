// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The value that a tap outside the int8 image `input` reads: its zero point.
$include "lib/image_bounds.glsl"
$gives uint zero_point_word()

uint zero_point_word() { return uint(problem.input_zero_point & 0xff) * 0x01010101u; }
