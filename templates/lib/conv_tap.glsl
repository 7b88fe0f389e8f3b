// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where an invocation is in its walk through taps and channels: lib/conv_rows.glsl.
struct Tap {
  uvec2 at;   // counted from the part's first
  uint unit;  // of the tap
};
Tap tap;
ivec2 origins[kFetches];  // where the rows read their first tap

// How far a tap reads from the origin.
ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.tap_reach[0], problem.tap_reach[1]); }
