// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows of a cache in blocks of block_size keys, which a table finds: docs/movement.md. The table is data: a new row
// whose entry is no block is not stored.
//
//   KEY_HEADS   heads of keys
$include "lib/cache_rows.glsl"
$needs KEY_HEADS
$gives CacheRow cache_row(uint line)

// The block of a position; block_count or more: none.
uint block_at(uint batch, uint position) {
  const uint entry = position >> findMSB(problem.block_size);
  return entry < problem.blocks_per_row ? uint(blocks_data[batch * problem.blocks_per_row + entry]) : problem.block_count;
}

// The line of all new rows of all heads.
CacheRow new_row(uint line) {
  const uint row = line % problem.rows, matrix = line / problem.rows;
  const uint head = matrix % KEY_HEADS, batch = matrix / KEY_HEADS;
  const uint position = first_row(batch) + row, block = block_at(batch, position);
  const uint slot = position & problem.block_size - 1u;
  return CacheRow((block * KEY_HEADS + head) * problem.block_size + slot, batch, head, row, position, true,
                  block < problem.block_count);
}

// The line of all rows of the caches. Of several new rows for one place, the last one is stored.
CacheRow cached_row(uint line) {
  const uint size = problem.block_size, slot = line & size - 1u, matrix = line >> findMSB(size);
  CacheRow found = CacheRow(line, 0u, matrix % KEY_HEADS, 0u, 0u, false, true);
  for (uint batch = 0u; batch < problem.batches; ++batch) {
    const uint first = first_row(batch);
    for (uint row = slot - first & size - 1u; row < problem.rows; row += size) {
      if (block_at(batch, first + row) != matrix / KEY_HEADS) continue;
      found.batch = batch;
      found.row = row;
      found.position = first + row;
      found.is_new = true;
    }
  }
  return found;
}

CacheRow cache_row(uint line) { return ${only_rows} ? new_row(line) : cached_row(line); }
