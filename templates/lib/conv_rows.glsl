// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of the matrix that a convolution multiplies with its weight, without the matrix: what a pixel of the output
// reads, tap by tap. A tap is units of `kUnitWords` words of four channels, the last one filled up: weights are zero
// there. A tile has kRows rows. Each of kInvocations fetches a unit of kFetches of them in a step, the same of all; a
// step has kUnits.
//
//   begin_rows(row, unit)     before the first step: the row of the workgroup's first fetch, and the first unit of k
//   row_unit(i, is_read)      a unit of fetch i's row, as kUnitWords words; any where it is not to be read
//   next_step()               goes on to the unit of the next step
//   weight_unit(unit)         where a unit stands in a row of the weight, which has weight_row_units()
//
// What a unit is, of which a tap has one at least, and how it is read, is said before: lib/conv_rows_vectors.glsl,
// conv_rows_words.glsl or conv_rows_lines.glsl.
uint units_of_a_row() {
  return problem.channels == 0u ? 0u : walked_taps().x * walked_taps().y * units_of_a_tap();
}

Tap tap_of(uint unit) {
  const uint index = unit / units_of_a_tap();
  const uint width = max(1u, walked_taps().x);  // a phase may have no tap
  return Tap(uvec2(index % width, index / width), unit % units_of_a_tap());
}

uint weight_unit(uint unit) {
$if direction == transposed
  const Tap walked = tap_of(unit);
  const uvec2 at = part.first + walked.at * uvec2(problem.tap_step[0], problem.tap_step[1]);
  return (at.y * problem.taps[0] + at.x) * units_of_a_tap() + walked.unit;
$else
  return unit;
$end
}

// Units past the tap's last are those of the next.
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

void begin_rows(uint first, uint unit) {
$if output_dtype == i32
  tap = tap_of(unit + gl_LocalInvocationIndex % kUnits);
$else
  tap = Tap(uvec2(0u), gl_LocalInvocationIndex % kUnits);
  settle_tap();
$end
  for (uint i = gl_LocalInvocationIndex; i < kRows; i += kInvocations) {
    const uvec3 pixel = pixel_of(min(first + i, part.rows - 1u));
    const ivec2 origin = input_origin(pixel.xy);
    tile_rows[i] = ivec4(origin, row_base(origin, pixel.z), 0);
  }
  barrier();
  [[unroll]] for (uint i = 0u; i < kFetches; ++i) {
    fetched_rows[i] = tile_rows[min((gl_LocalInvocationIndex + i * kInvocations) / kUnits, kRows - 1u)];
  }
}
