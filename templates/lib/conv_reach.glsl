// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How far a tap of the walk of lib/conv_part.glsl reads from the origin.
ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.tap_reach[0], problem.tap_reach[1]); }
