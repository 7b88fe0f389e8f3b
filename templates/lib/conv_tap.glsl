// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The current tap and channel of an invocation's loop over taps and channels: lib/conv_rows.glsl.
$needs const uint kFetches
$gives Tap tap
$gives struct Tap
$gives ivec4 fetched_rows

struct Tap {
  uvec2 at;   // counted from the part's first
  uint unit;  // of the tap
};
Tap tap;

// Of the rows that this invocation fetches: the position of each one's first tap, as (width, height), and the result of
// row_base().
ivec4 fetched_rows[kFetches];
