// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of an int8 pool, with a team of invocations per piece of four neighbouring outputs. They are neighbours
// along the dimension that the output packs. A member reads every team-th tap of their windows. The members' results
// are joined in shared memory.
$include "lib/grid.glsl"
$include "lib/pool_window.glsl"
$needs uint kLanes
$needs VALUE                                 // the type of value_at(): ivec4 for a piece, int for an element
$needs VALUE value_at(uvec4 at)
$needs int before_taps(uint count)
$needs joined
$needs uvec4 first_of(uint number)
$needs uint lanes_at(uvec4 at)
$needs uint piece_of(ivec4 values, uvec4 at)

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
