// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where the new rows of a sequence begin in its cache of keys and values: docs/movement.md. The parts `whole` and
// `blocks` find rows of both kinds of caches. cache_write and cache_write_paged define move_of(), and end with the part
// `moves`.
$gives uint first_row(uint batch)
$gives struct CacheRow
$gives const uint kNowhere
$gives struct Move

uint first_row(uint batch) {
  const int before = int(problem.rows) - 1;
  return uint(max(last_data[batch], max(before, 0)) - before);
}

// A row of a head: which one of the cache, of which new row if one is stored there, and that row's position.
// cache_row() finds it.
struct CacheRow { uint place, batch, head, row, position; bool is_new, is_stored; };

const uint kNowhere = 0xffffffffu;

// Where an element of a cache is, and the new element for it; kNowhere: none.
struct Move { uint place, from; };

$part whole
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

$part blocks
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

$part moves
// The main() of kernels that write keys and values into caches.
$include "lib/cache_rows.glsl"
$needs uint workgroup_index()
$needs Move move_of(uint element, uint width)
$needs uint first_row(uint batch)

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
