// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The caches of keys and of values with new rows at [first, first + S): docs/movement.md. An invocation has an element,
// first those of keys, then those of values. With only_new it visits new rows only, and else whole caches. Positions are
// data, so each is compared with the capacity.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(key)}
${declare_bits(value)}
${declare(last)}
${declare_bits(keys)}
${declare_bits(values)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/cache_rows.glsl"

const uint kNowhere = 0xffffffffu;

// Where an element of a cache is, and the new element for it; kNowhere: none.
struct Move { uint place, from; };
Move move_of(uint element, uint width) {
  const uint visited = ${only_rows} ? problem.rows : problem.capacity;
  const uint d = element % width, line = element / width;
  const uint matrix = line / visited, head = matrix % problem.heads, batch = matrix / problem.heads;
  const uint first = first_row(batch);
  const uint position = line % visited + (${only_rows} ? first : 0u), row = position - first;
  Move move = Move((matrix * problem.capacity + position) * width + d, kNowhere);
  if (row < problem.rows) move.from = ((batch * problem.rows + row) * problem.heads + head) * width + d;
  if (position >= problem.capacity) move.place = kNowhere;
  return move;
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (index < problem.keys_count) {
    const Move move = move_of(index, problem.width);
    if (move.place == kNowhere) return;
    if (move.from != kNowhere) keys_bits[move.place] = key_bits[move.from];
    else keys_bits[move.place] = key_cache_bits[move.place];
  } else if (index < problem.items) {
    const Move move = move_of(index - problem.keys_count, problem.value_width);
    if (move.place == kNowhere) return;
    if (move.from != kNowhere) values_bits[move.place] = value_bits[move.from];
    else values_bits[move.place] = value_cache_bits[move.place];
  }
}
