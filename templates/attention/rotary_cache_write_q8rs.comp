// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Queries and keys of new rows are rotated as by rotary_embedding.comp, and keys and values are written into int8
// caches as by cache_write_q8rs.comp: docs/attention.md. A workgroup has a row of a head: first those of queries, then
// those of keys, then those of values. With only_new it visits new rows only, and else whole caches. Positions are
// data, so each is compared with the capacity and with the table of angles. Subnormal numbers count as 0, so that
// every device computes the same keys.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(query)}
${declare_bits(key)}
${declare_bits(value)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(scale_cache)}
${declare_bits(cos)}
${declare_bits(sin)}
${declare(last)}
${declare_bits(rotated)}
${declare_bits(keys)}
${declare_bits(values)}
${declare_bits(scales)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
#define KEY_HEADS problem.key_heads
$include "lib/cache_rows.glsl" whole
$include "lib/rotary_caches.glsl" lines_main
