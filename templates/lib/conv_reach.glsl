// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The offset of a tap of lib/conv_part.glsl from the window's first tap.
$gives ivec2 reach_of(uvec2 at)

ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.tap_reach[0], problem.tap_reach[1]); }
