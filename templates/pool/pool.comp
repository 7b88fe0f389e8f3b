// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The greatest element or the mean under each output position of an int8 pool. docs/pool.md is the bit-exact
// definition.
//
//   plain     a team makes a piece: four outputs side by side along the dimension that the output packs. A member takes
//             every team-th tap of their windows, and what the members have is joined in shared memory
//   sliding   an invocation computes four neighbouring output positions along the width: a piece, or of
//             packed channels four. A column of the input is read once for all of them that it lies under
//
// Coordinates along width and height count from where the padding begins, unless they are the input's own.
$require way == plain or packed(output_layout) == 0 or outer(output_layout) in (0, 3)
#version 450
${extensions()}
$if way == sliding
#extension GL_EXT_control_flow_attributes : require
$end
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input)}
$if way == sliding and packed(output_layout) != 0
${declare_blocks(output, 0)}
$else
${declare_blocks(output)}
$end
$include "lib/grid.glsl"
$include "lib/quotient.glsl" dividers
$include "lib/words.glsl"
$include "lib/float32.glsl"
$include "lib/q8ta.glsl"

const uint kLanes = ${packed(output_layout)}u;

// ---- which outputs --------------------------------------------------------------------------------------------------

// The first element of a piece or of a slide. Neighbours follow each other as they do in the output's memory.
uvec4 first_of(uint number) {
$if way == sliding
  const uint kSides = 3u;
$else
  const uint kSides = 0u;
$end
  const uvec2 first = divided(number, kSides);
  const uvec2 second = divided(first.x, kSides + 1u);
  const uvec2 third = divided(second.x, kSides + 2u);
  uvec4 at;
  at[${first_axis}] = first.y;
  at[${second_axis}] = second.y;
  at[${third_axis}] = third.y;
  at[kLanes] *= 4u;
$if way == sliding and packed(output_layout) != 0
  at.x *= 4u;
$end
  at.w = third.x;
  return at;
}

// How many of a piece's elements the output has: blocks reach past its sides.
uint lanes_at(uvec4 at) {
  if (at.x >= problem.output_sides[0] || at.y >= problem.output_sides[1]) return 0u;
  return min(4u, problem.output_sides[kLanes] - at[kLanes]);
}

// ---- the taps of a window -------------------------------------------------------------------------------------------

const uint kDilationDividers = 6u;
$include "lib/pool_window.glsl"

$if packed(input_layout) == 2 and packed(output_layout) == 2
// The elements of a piece are under windows at one position, and are loaded together.
#define VALUE ivec4
VALUE value_at(uvec4 at) { return unpack_i8(input_load(at)); }
$else
#define VALUE int
VALUE value_at(uvec4 at) { return bitfieldExtract(int(input_element(at)), 0, 8); }
$end

ivec4 joined(ivec4 a, ivec4 b) { return ${takes_mean} ? a + b : max(a, b); }
int joined(int a, int b) { return ${takes_mean} ? a + b : max(a, b); }

// What to begin with that so many taps will be joined to: sums are of differences from the zero point.
int before_taps(uint count) { return ${takes_mean} ? -int(count) * problem.input_zero_point : -128; }

// ---- from a sum to an output ----------------------------------------------------------------------------------------


vec4 reciprocals_at(uvec4 at, uint lanes) {
$if packed(output_layout) == 2
  return vec4(reciprocal_at(at));
$else
  vec4 all = vec4(0.0);
  for (uint lane = 0u; lane < lanes; ++lane, ++at[kLanes]) all[lane] = reciprocal_at(at);
  return all;
$end
}

uint finished(ivec4 values, uvec4 at, uint lanes) {
  if (!${takes_mean}) return pack_i8(values);
  const vec4 reals = vec4(to_float(values.x), to_float(values.y), to_float(values.z), to_float(values.w));
  precise const vec4 means = reals * reciprocals_at(at, lanes);
  precise const vec4 x = means * problem.input_scale;
  return quantized(x, problem.inverse_scale, problem.output_zero_point);
}

uint piece_of(ivec4 values, uvec4 at) {
  const uint lanes = lanes_at(at);
  return lanes == 0u ? problem.blank : bitfieldInsert(problem.blank, finished(values, at, lanes), 0, int(8u * lanes));
}

// ---- who does it ----------------------------------------------------------------------------------------------------

$if way == sliding
// The columns of the input under a slide, each read once for all windows that contain it.

// Three taps wait for memory together. Past the last, it is read again, and does not count.
VALUE column_at(uvec4 at, uint count) {
  VALUE all = VALUE(before_taps(count));
  const uint first = at.y;
  for (uint tap = 0u; tap < count; tap += 3u) {
    VALUE values[3];
    [[unroll]] for (uint i = 0u; i < 3u; ++i) {
      at.y = first + min(tap + i, count - 1u) * problem.dilation[1];
      values[i] = value_at(at);
    }
    [[unroll]] for (uint i = 0u; i < 3u; ++i) all = tap + i < count ? joined(all, values[i]) : all;
  }
  return all;
}

void main() {
  const uint number = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (number >= problem.slides) return;
  const uvec4 at = first_of(number);
$if packed(output_layout) == 0
  if (lanes_at(at) == 0u) {
    output_store(at, problem.blank);
    return;
  }
$end
  const uvec2 rows = taps_inside(1u, at.y);
  const uint stride = problem.stride[0], taps = problem.taps[0];
  const uint start = at.x * stride;
  const uint begin = problem.padding[0], end = begin + problem.input_sides[0];
$for place in range(4)
  VALUE under_${place} = VALUE(before_taps(0u));
$end
  for (uint x = max(start, begin); x < min(start + 3u * stride + taps, end); ++x) {
    const VALUE column = column_at(uvec4(x - begin, rows.x, at.zw), rows.y);
$for place in range(4)
    if (x - (start + ${place}u * stride) < taps) under_${place} = joined(under_${place}, column);
$end
  }
$if packed(output_layout) == 0
  output_store(at, piece_of(ivec4(under_0, under_1, under_2, under_3), at));
$else
  output_store_rows(at, uvec4(piece_of(under_0, at), piece_of(under_1, at + uvec4(1u, 0u, 0u, 0u)),
                              piece_of(under_2, at + uvec4(2u, 0u, 0u, 0u)),
                              piece_of(under_3, at + uvec4(3u, 0u, 0u, 0u))));
$end
}
$else
// A member's share.
VALUE under_window(uvec4 at, uint member) {
  const uvec2 columns = taps_inside(0u, at.x), rows = taps_inside(1u, at.y);
  VALUE all = VALUE(before_taps(member == 0u ? columns.y * rows.y : 0u));
  uvec2 tap = uvec2(member, 0u);
  while (true) {
    if (tap.x >= columns.y) {
      const uint wrapped = ${team} == 1u ? 1u : tap.x / columns.y;
      tap += uvec2(-wrapped * columns.y, wrapped);
    }
    if (tap.y >= rows.y) return all;
    at.x = columns.x + tap.x * problem.dilation[0];
    at.y = rows.x + tap.y * problem.dilation[1];
    all = joined(all, value_at(at));
    tap.x += ${team};
  }
}

ivec4 under_windows(uvec4 at, uint member) {
$if packed(input_layout) == 2 and packed(output_layout) == 2
  return under_window(at, member);
$else
  ivec4 all = ivec4(0);
  const uint lanes = lanes_at(at);
  for (uint lane = 0u; lane < lanes; ++lane, ++at[kLanes]) all[lane] = under_window(at, member);
  return all;
$end
}

// Neighbours in a subgroup read adjacent elements: channels, or else the width of an image.
$if packed(input_layout) == 2
const uint kPieceStep = 1u, kMemberStep = ${workgroup} / ${team};
$else
const uint kPieceStep = ${team}, kMemberStep = 1u;
$end
shared ivec4 shares[${workgroup}];

// The first member gets the result. All invocations of the workgroup must call it.
ivec4 joined_by_team(ivec4 mine, uint member) {
  if (${team} == 1u) return mine;
  const uint own = gl_LocalInvocationIndex;
  shares[own] = mine;
  barrier();
  for (uint distance = ${team} / 2u; distance > 0u; distance /= 2u) {
    if (member < distance) shares[own] = joined(shares[own], shares[own + distance * kMemberStep]);
    barrier();
  }
  return shares[own];
}

void main() {
  const uint kPieces = ${workgroup} / ${team};
  const uint number = workgroup_index() * kPieces + gl_LocalInvocationIndex / kPieceStep % kPieces;
  const uint member = gl_LocalInvocationIndex / kMemberStep % ${team};
  const uvec4 at = first_of(number);
  const bool is_piece = number < problem.pieces;
  const ivec4 mine =
      is_piece && lanes_at(at) != 0u ? under_windows(at, member) : ivec4(before_taps(0u));
  const ivec4 all = joined_by_team(mine, member);
  if (is_piece && member == 0u) output_store(at, piece_of(all, at));
}
$end
