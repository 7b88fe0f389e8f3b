// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of an int8 pool, with four neighbouring output positions per invocation, along the width. The invocation
// reads a column of the input once for all windows that contain the column.
$include "lib/grid.glsl"
$include "lib/pool_window.glsl"
$needs VALUE                                 // the type of value_at(): ivec4 for a piece, int for an element
$needs VALUE value_at(uvec4 at)
$needs int before_taps(uint count)
$needs joined
$needs uvec4 first_of(uint number)
$needs uint lanes_at(uvec4 at)
$needs uint piece_of(ivec4 values, uvec4 at)

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
