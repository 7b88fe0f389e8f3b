// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The int8 caches of keys and of values with new rows at [first, first + S): docs/movement.md. A workgroup has a row of
// a head, first those of keys, then those of values. With only_new it visits new rows only, and else whole caches.
// Positions are data, so each is compared with the capacity.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(scale_cache)}
${declare_bits(key)}
${declare_bits(value)}
${declare(last)}
${declare_bits(keys)}
${declare_bits(values)}
${declare_bits(scales)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
#define KEY_HEADS problem.heads
$include "lib/cache_rows.glsl" whole
$include "lib/cache_lines.glsl" main
