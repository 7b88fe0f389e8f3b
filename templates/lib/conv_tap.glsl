// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where an invocation is in its walk through taps and channels: lib/conv_rows.glsl.
struct Tap {
  uvec2 at;   // counted from the part's first
  uint unit;  // of the tap
};
Tap tap;

// Of each row of the workgroup's tile, where it reads its first tap, as (width, height), and what row_base() says.
// The divisions that it takes are made once a row; then each invocation keeps its own.
shared ivec4 tile_rows[kRows];
ivec4 fetched_rows[kFetches];
