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

$include "lib/cache_rows.glsl" moves
