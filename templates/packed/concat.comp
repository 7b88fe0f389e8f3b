// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Joins up to four int8 tensors along problem.axis, each requantized by lib/q8ta.glsl. docs/q8ta.md says why values do
// not change if the scales and zero points are equal. An invocation computes a tile. If the tile belongs to one input,
// and begins where a tile of that input begins, it is loaded as 32-bit words; else byte by byte. An omitted input has a
// length of 0.
$require input_layout == output_layout
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input_1, across(input_layout, output_layout))}
${declare_blocks(input_2, across(input_layout, output_layout))}
${declare_blocks(input_3, across(input_layout, output_layout))}
${declare_blocks(input_4, across(input_layout, output_layout))}
${declare_blocks(output, across(output_layout, input_layout))}
$include "lib/q8ta.glsl"
$include "lib/packed_tile.glsl" store

// The period that contains `at`, and the position in it. Only an axis of the batch has more than one.
uvec2 along_axis(uvec4 at) { return problem.axis == 3u ? divided(at.w, 3u) : uvec2(0u, at[problem.axis]); }

bool is_of_input(uvec2 along, uint input_index) {
  return along.y - problem.begins[input_index] < problem.lengths[input_index];
}

// Whether the tile from there on has no other input's elements, and is one of this input's own tiles.
bool is_tile_of_input(uvec2 along, uint input_index) {
  const uint side = tile_side(problem.axis), from = along.y - problem.begins[input_index];
  const uint end = min(along.y + side, problem.period) - problem.begins[input_index];
  return is_of_input(along, input_index) && from % side == 0u && end <= problem.lengths[input_index];
}

// The same coordinate, as the input has it.
uvec4 in_input(uvec4 at, uvec2 along, uint input_index) {
  at[problem.axis] = along.x * problem.lengths[input_index] + along.y - problem.begins[input_index];
  return at;
}

uint requantized(uint word, uint input_index) {
  const int zero_point = problem.output_zero_point;
  return quantized_between(dequantized(word, problem.input_scales[input_index], problem.input_zero_points[input_index]),
                           problem.inverse_scale, zero_point, float(-128 - zero_point), float(127 - zero_point));
}

uvec4 requantized_rows(uvec4 rows, uint input_index) {
  return uvec4(requantized(rows.x, input_index), requantized(rows.y, input_index), requantized(rows.z, input_index),
               requantized(rows.w, input_index));
}

uint gathered_word(uvec4 at) {
  uint word = 0u;
$for i in range(4)
  uint bytes_${i} = 0u, lanes_${i} = 0u;
$end
$for lane in range(4)
  const uvec4 at_${lane} = moved_inside(at, kLanes, ${lane}u);
  const uvec2 along_${lane} = along_axis(at_${lane});
$for i in range(4)
  if (is_of_input(along_${lane}, ${i}u)) {
    bytes_${i} |= input_${i + 1}_element(in_input(at_${lane}, along_${lane}, ${i}u)) << ${8 * lane};
    lanes_${i} |= 0xffu << ${8 * lane};
  }
$end
$end
$for i in range(4)
  if (lanes_${i} != 0u) word |= requantized(bytes_${i}, ${i}u) & lanes_${i};
$end
  return word;
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
  const uvec2 along = along_axis(at);
$for i in range(4)
  if (is_tile_of_input(along, ${i}u)) {
    store_tile(at, requantized_rows(input_${i + 1}_rows(in_input(at, along, ${i}u)), ${i}u), problem.padding);
    return;
  }
$end
  store_tile(at, uvec4(gathered_word(at), gathered_word(moved_inside(at, kRows, 1u)),
                       gathered_word(moved_inside(at, kRows, 2u)), gathered_word(moved_inside(at, kRows, 3u))),
             problem.padding);
}
