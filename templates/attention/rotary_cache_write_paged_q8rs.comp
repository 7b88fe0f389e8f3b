// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// attention/rotary_cache_write_q8rs.comp with caches in blocks, which a table finds: docs/attention.md.
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
${declare(blocks)}
${declare(last)}
${declare_bits(rotated)}
${declare_bits(keys)}
${declare_bits(values)}
${declare_bits(scales)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
#define KEY_HEADS problem.key_heads
$include "lib/cache_rows.glsl" blocks
$include "lib/rotary_caches.glsl" lines_main
