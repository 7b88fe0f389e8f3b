// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows of a cache that has room for all keys of each batch: docs/movement.md. Positions are data, so each is compared
// with the capacity.
//
//   KEY_HEADS   heads of keys
$include "lib/cache_rows.glsl"
$needs KEY_HEADS
$gives CacheRow cache_row(uint line)

// With only_new, the line of all new rows of all heads; else that of all rows of the caches.
CacheRow cache_row(uint line) {
  const uint visited = ${only_rows} ? problem.rows : problem.capacity;
  const uint matrix = line / visited, head = matrix % KEY_HEADS, batch = matrix / KEY_HEADS;
  const uint first = first_row(batch);
  const uint position = line % visited + (${only_rows} ? first : 0u), row = position - first;
  return CacheRow(matrix * problem.capacity + position, batch, head, row, position, row < problem.rows,
                  position < problem.capacity);
}
