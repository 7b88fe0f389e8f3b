// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Implicit im2col: makes rows of the im2col matrix in shared memory. A row holds the inputs of one output pixel, tap by
// tap. A tap has units of `kUnitWords` 32-bit words of four channels. The last unit is filled up; weights are zero
// there. A tile has kRows rows. In a step, each of kInvocations fetches the same unit of kFetches rows. A step has
// kUnits units.
//
//   begin_rows(row, unit)     before the first step: the row of the workgroup's first fetch, and the first unit of k
//   row_unit(i, is_read)      a unit of fetch i's row, as kUnitWords words; any where it is not to be read
//   next_step()               goes on to the unit of the next step
//
// lib/conv_rows_vectors.glsl, conv_rows_words.glsl or conv_rows_halves.glsl includes this file, and gives what a unit is
// and how it is read. A tap has at least one unit. lib/conv_part.glsl or conv_pixels.glsl gives which pixels there are.
$needs void begin_tap(uint unit)  // the tap of this invocation's first unit, where the workgroup's first is `unit`
$needs ivec2 input_origin(uvec2 pixel)
$needs const uint kFetches
$needs const uint kInvocations
$needs const uint kRows
$needs const uint kUnits
$needs Part part
$needs uvec3 pixel_of(uint row)
$needs void put_row(uint row, ivec4 place)  // of each row of the tile, in shared memory
$needs ivec4 row_at(uint row)
$needs int row_base(ivec2 origin, uint image)
$needs uint units_of_a_tap()
$needs uvec2 walked_taps()
$gives struct Tap
$gives Tap tap
$gives ivec4 fetched_rows
$gives uint units_of_a_row()
$gives Tap tap_of(uint unit)
$gives void settle_tap()
$gives void next_step()
$gives void begin_rows(uint first, uint unit)

uint units_of_a_tap();
uvec2 walked_taps();
int row_base(ivec2 origin, uint image);
void begin_tap(uint unit);

// The current tap and channel of an invocation's loop over taps and channels.
struct Tap {
  uvec2 at;   // counted from the part's first
  uint unit;  // of the tap
};
Tap tap;

// Of the rows that this invocation fetches: the position of each one's first tap, as (width, height), and the result of
// row_base().
ivec4 fetched_rows[kFetches];

uint units_of_a_row() {
  return problem.channels == 0u ? 0u : walked_taps().x * walked_taps().y * units_of_a_tap();
}

Tap tap_of(uint unit) {
  const uint index = unit / units_of_a_tap();
  const uint width = max(1u, walked_taps().x);  // a phase may have no tap
  return Tap(uvec2(index % width, index / width), unit % units_of_a_tap());
}

// Units past the last of a tap belong to the next tap.
void settle_tap() {
  while (tap.unit >= units_of_a_tap()) {
    tap.unit -= units_of_a_tap();
    ++tap.at.x;
    if (tap.at.x == walked_taps().x) tap.at = uvec2(0u, tap.at.y + 1u);
  }
}

void next_step() {
  tap.unit += kUnits;
  settle_tap();
}

// The divisions that a row takes are made once; then each invocation keeps its own.
void begin_rows(uint first, uint unit) {
  begin_tap(unit);
  for (uint i = gl_LocalInvocationIndex; i < kRows; i += kInvocations) {
    const uvec3 pixel = pixel_of(min(first + i, part.rows - 1u));
    const ivec2 origin = input_origin(pixel.xy);
    put_row(i, ivec4(origin, row_base(origin, pixel.z), 0));
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    fetched_rows[i] = row_at(min((gl_LocalInvocationIndex + i * kInvocations) / kUnits, kRows - 1u));
  }
}
