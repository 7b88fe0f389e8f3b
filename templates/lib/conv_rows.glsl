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
// What a unit is, and how it is read, are the parts `vectors` and `words` for int8, with `weight`, and `halves` for
// f16, with `pixels`. A tap has at least one unit. lib/conv_part.glsl or `pixels` gives which pixels there are.
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

$part vectors
// Units that are sixteen channels of a pixel, adjacent in memory: in packed_4c, of channels in multiples of sixteen.
$include "lib/conv_part.glsl"
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives uint weight_row_units()
$gives uvec4 row_unit(uint i, bool is_read)
$gives int row_base(ivec2 origin, uint image)

${declare_words(input, 4)}
$include "lib/conv_input.glsl"
$include "lib/conv_rows.glsl"

uint units_of_a_tap() { return max(1u, problem.channels / 16u); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int pixel_vectors() { return int(problem.input_sides[2] / 16u); }

// The vector that the origin is, of the group's first channel.
int row_base(ivec2 origin, uint image) {
  const int line = int(image * problem.input_sides[1]) + origin.y;
  return (line * int(problem.input_sides[0]) + origin.x) * pixel_vectors() + int(part.group * problem.channels / 16u);
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec2 reach = reach_of(tap.at);
  const int offset = (reach.y * int(problem.input_sides[0]) + reach.x) * pixel_vectors() + int(tap.unit);
  const ivec4 row = fetched_rows[i];
  const int at = row.z + offset;
  uvec4 unit = uvec4(zero_point_word());
  if (is_read && is_inside(row.xy + reach)) unit = input_words[at];  // a load alone is predicated, more is a branch
  return unit;
}

$part words
// Units that are read four channels at a time, in any layout.
$include "lib/conv_part.glsl"
$include "lib/conv_rows.glsl"
$include "lib/conv_input.glsl"
$needs const uint kUnitWords
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives uint weight_row_units()
$gives uvec4 row_unit(uint i, bool is_read)
$gives int row_base(ivec2 origin, uint image)

uint units_of_a_tap() { return max(1u, (problem.channels + 4u * kUnitWords - 1u) / (4u * kUnitWords)); }
uvec2 walked_taps() { return part.taps; }
uint weight_row_units() { return problem.taps[0] * problem.taps[1] * units_of_a_tap(); }

int row_base(ivec2 origin, uint image) { return int(image); }

// Four channels from a multiple of four on, where `is_read`, else anything; bytes past the image's last channel are
// anything too. Loads always happen, since one that does waits for no branch: those that are not to be read are of the
// first element.
uint loaded_word(uint image, ivec2 at, uint channel, bool is_read) {
$if packed(input_layout) == 2
  return input_load(is_read ? uvec4(at, channel, image) : uvec4(0u));
$else
  uint word = 0u;
  for (uint lane = 0u; lane < 4u; ++lane) {
    const uvec4 place = uvec4(at, min(channel + lane, problem.input_sides[2] - 1u), image);
    word |= input_element(is_read ? place : uvec4(0u)) << (8u * lane);
  }
  return word;
$end
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec4 row = fetched_rows[i];
  const ivec2 at = row.xy + reach_of(tap.at);
  const bool is_loaded = is_read && is_inside(at);
  uvec4 unit = uvec4(0u);
  [[unroll]] for (uint word = 0u; word < kUnitWords; ++word) {
    const uint channel = 4u * (tap.unit * kUnitWords + word);
    unit[word] = loaded_word(uint(row.z), at, part.group * problem.channels + channel,
                             is_loaded && channel < problem.channels);
  }
  return mix(uvec4(zero_point_word()), unit, bvec4(is_loaded));
}

$part weight
// Loads of the weight for the taps of lib/conv_part.glsl, in the order of the rows' units: where it begins, and
//
//   weight_unit(unit)         where a unit stands in a row of the weight, which has weight_row_units()
$include "lib/conv_part.glsl"
$include "lib/conv_rows.glsl"
$needs const uint kUnits
$needs uint units_of_a_tap()
$needs void settle_tap()
$gives uint weight_unit(uint unit)
$gives void begin_tap(uint unit)

uint weight_unit(uint unit) {
$if direction == transposed
  const Tap walked = tap_of(unit);
  const uvec2 at = part.first + walked.at * uvec2(problem.tap_step[0], problem.tap_step[1]);
  return (at.y * problem.taps[0] + at.x) * units_of_a_tap() + walked.unit;
$else
  return unit;
$end
}

void begin_tap(uint unit) {
$if output_dtype == i32
  tap = tap_of(unit + gl_LocalInvocationIndex % kUnits);
$else
  tap = Tap(uvec2(0u), gl_LocalInvocationIndex % kUnits);
  settle_tap();
$end
}

$part halves
// Units that are eight f16 channels of a pixel; neighbouring channels are one plane apart in memory. Taps are whole
// loads, as in lib/weight_rows.glsl. Elements outside the image count as zero, and so do channels that only fill up a
// tap.
$include "lib/conv_rows.glsl" pixels
$include "lib/conv_input.glsl" bounds
$include "lib/conv_rows.glsl"
$gives uint units_of_a_tap()
$gives uvec2 walked_taps()
$gives int row_base(ivec2 origin, uint image)
$gives uvec4 row_unit(uint i, bool is_read)

uint units_of_a_tap() { return max(1u, (problem.channels + 15u) / 16u * 2u); }
uvec2 walked_taps() { return uvec2(problem.taps[0], problem.taps[1]); }

// The element that the origin is, of the image's first channel.
int row_base(ivec2 origin, uint image) {
  return int(image * problem.input_strides[3]) + origin.y * int(problem.input_strides[1]) + origin.x;
}

uvec4 row_unit(uint i, bool is_read) {
  const ivec4 row = fetched_rows[i];
  const ivec2 reach = reach_of(tap.at);
  const uint plane = problem.input_strides[2];
  const uint channel = 8u * tap.unit;
  const uint first = uint(row.z + reach.y * int(problem.input_strides[1]) + reach.x) + channel * plane;
  const uint count = is_read && is_inside(row.xy + reach) ? problem.channels - min(channel, problem.channels) : 0u;
  uvec4 unit = uvec4(0u);
  [[unroll]] for (uint lane = 0u; lane < 8u; ++lane) {
    if (lane < count) unit[lane / 2u] |= uint(input_bits[first + lane * plane]) << (16u * (lane % 2u));
  }
  return unit;
}

$part pixels
// The output pixels of a forward convolution with one group, as rows of one matrix. lib/conv_part.glsl replaces it if
// there are groups or phases.
$gives Part part
$gives void begin_part()
$gives uvec3 pixel_of(uint row)
$gives ivec2 input_origin(uvec2 pixel)
$gives ivec2 reach_of(uvec2 at)

struct Part { uint rows; };
Part part;

void begin_part() { part.rows = problem.m; }

// A row, as (width, height, image) of its pixel.
uvec3 pixel_of(uint row) {
  const uint line = row / problem.row_pixels;
  return uvec3(row % problem.row_pixels, line % problem.output_sides[1], line / problem.output_sides[1]);
}

// Where it reads the first tap.
ivec2 input_origin(uvec2 pixel) {
  const uvec2 stride = uvec2(problem.stride[0], problem.stride[1]);
  return ivec2(pixel * stride) - ivec2(problem.padding[0], problem.padding[1]);
}

// How far a tap reads from the origin.
ivec2 reach_of(uvec2 at) { return ivec2(at) * ivec2(problem.dilation[0], problem.dilation[1]); }
