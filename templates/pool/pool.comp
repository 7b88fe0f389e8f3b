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
$include "lib/divide.glsl"
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
$include "lib/pool_sliding.glsl"
$else
$include "lib/pool_teams.glsl"
$end
