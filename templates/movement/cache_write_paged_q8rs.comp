// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// movement/cache_write_q8rs.comp with caches in blocks, which a table finds: docs/movement.md.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_bits(key_cache)}
${declare_bits(value_cache)}
${declare_bits(scale_cache)}
${declare_bits(key)}
${declare_bits(value)}
${declare(blocks)}
${declare(last)}
${declare_bits(keys)}
${declare_bits(values)}
${declare_bits(scales)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
#define KEY_HEADS problem.heads
$include "lib/cache_rows.glsl" blocks
$include "lib/cache_lines.glsl" main
