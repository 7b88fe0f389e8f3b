// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Queries and keys of new rows are rotated as by rotary_embedding.comp, and keys and values are written into their
// caches as by cache_write.comp: docs/attention.md. An invocation has a pair of elements: first those of queries, then
// those of keys, then those of values. With only_new it visits new rows only, and else whole caches. Positions are
// data, so each is compared with the capacity and with the table of angles.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(query)}
${declare_bits(key)}
${declare_bits(value)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(cos)}
${declare_bits(sin)}
${declare(last)}
${declare_bits(rotated)}
${declare_bits(keys)}
${declare_bits(values)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"

$include "lib/rotary_caches.glsl" heads

Head key_head(uint part, uint line) {
  const uint visited = ${only_rows} ? problem.rows : problem.capacity;
  const uint matrix = line / visited, head = matrix % problem.key_heads, batch = matrix / problem.key_heads;
  const uint first = first_row(batch);
  const uint position = line % visited + (${only_rows} ? first : 0u), row = position - first;
  const uint before = ${packed} ? problem.heads + (part == kValues ? problem.key_heads : 0u) : 0u;
  const uint heads = ${packed} ? problem.row_heads : problem.key_heads;
  const uint from = ((batch * problem.rows + row) * heads + before + head) * problem.width;
  return Head(part, from, (matrix * problem.capacity + position) * problem.width, position, row < problem.rows,
              position < problem.capacity);
}

$include "lib/rotary_caches.glsl" heads_main
