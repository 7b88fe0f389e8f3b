// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where the new rows of a sequence begin in its cache of keys and values: docs/movement.md. And what cache_write and
// cache_write_paged move: each defines move_of(), and then includes lib/cache_moves_main.glsl.
$gives uint first_row(uint batch)
$gives struct CacheRow
$gives const uint kNowhere
$gives struct Move

uint first_row(uint batch) {
  const int before = int(problem.rows) - 1;
  return uint(max(last_data[batch], max(before, 0)) - before);
}

// A row of a head: which one of the cache, of which new row if one is stored there, and that row's position.
// lib/cache_whole.glsl and lib/cache_blocks.glsl find it.
struct CacheRow { uint place, batch, head, row, position; bool is_new, is_stored; };

const uint kNowhere = 0xffffffffu;

// Where an element of a cache is, and the new element for it; kNowhere: none.
struct Move { uint place, from; };
