// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// movement/cache_write.comp with caches in blocks, which a table finds: docs/movement.md.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(key)}
${declare_bits(value)}
${declare(blocks)}
${declare(last)}
${declare_bits(keys)}
${declare_bits(values)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/cache_rows.glsl"
#define KEY_HEADS problem.heads
$include "lib/cache_rows.glsl" blocks

Move move_of(uint element, uint width) {
  const uint d = element % width;
  const CacheRow row = cache_row(element / width);
  Move move = Move(row.place * width + d, kNowhere);
  if (row.is_new) move.from = ((row.batch * problem.rows + row.row) * problem.heads + row.head) * width + d;
  if (!row.is_stored) move.place = kNowhere;
  return move;
}

$include "lib/cache_rows.glsl" moves
