// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// attention/rotary_cache_write.comp with caches in blocks, which a table finds: docs/attention.md.
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
${declare(blocks)}
${declare(last)}
${declare_bits(rotated)}
${declare_bits(keys)}
${declare_bits(values)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"

$include "lib/rotary_caches.glsl" heads
#define KEY_HEADS problem.key_heads
$include "lib/cache_rows.glsl" blocks

Head key_head(uint part, uint line) {
  const CacheRow row = cache_row(line);
  const uint before = ${packed} ? problem.heads + (part == kValues ? problem.key_heads : 0u) : 0u;
  const uint heads = ${packed} ? problem.row_heads : problem.key_heads;
  const uint from = ((row.batch * problem.rows + row.row) * heads + before + row.head) * problem.width;
  return Head(part, from, row.place * problem.width, row.position, row.is_new, row.is_stored);
}

$include "lib/rotary_caches.glsl" heads_main
