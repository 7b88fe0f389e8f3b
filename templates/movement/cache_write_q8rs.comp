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
$include "lib/cache_codes.glsl"

float new_element(bool is_key, uint at) { return real_of(is_key ? uint(key_bits[at]) : uint(value_bits[at])); }

void store(bool is_key, uint at, uint code) {
  if (is_key) keys_bits[at] = uint8_t(code);
  else values_bits[at] = uint8_t(code);
}

$include "lib/cache_rows.glsl"

void main() {
  const uint group = workgroup_index(), here = gl_LocalInvocationIndex;
  const uint index = group * ${workgroup} + here;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (group >= 2u * problem.lines) return;
  const bool is_key = group < problem.lines;
  const uint line = is_key ? group : group - problem.lines, width = is_key ? problem.width : problem.value_width;
  const uint visited = ${only_rows} ? problem.rows : problem.capacity;
  const uint matrix = line / visited, head = matrix % problem.heads, batch = matrix / problem.heads;
  const uint first = first_row(batch);
  const uint position = line % visited + (${only_rows} ? first : 0u), row = position - first;
  if (position >= problem.capacity) return;   // the same for the whole workgroup, as below
  const uint place = matrix * problem.capacity + position, of_scale = 2u * place + (is_key ? 0u : 1u);
  if (row >= problem.rows) {
    for (uint d = here; d < width; d += ${workgroup}) {
      const uint at = place * width + d;
      store(is_key, at, is_key ? uint(key_cache_bits[at]) : uint(value_cache_bits[at]));
    }
    if (here == 0u) scales_bits[of_scale] = scale_cache_bits[of_scale];
    return;
  }
  const uint from = ((batch * problem.rows + row) * problem.heads + head) * width;
  uint magnitude = 0u;
  for (uint d = here; d < width; d += ${workgroup}) {
    magnitude = max(magnitude, floatBitsToUint(new_element(is_key, from + d)) & kMagnitude);
  }
  const float scale = row_scale(magnitude), inverse = inverse_of(scale);
  for (uint d = here; d < width; d += ${workgroup}) {
    store(is_key, place * width + d, code_of(new_element(is_key, from + d), inverse));
  }
  if (here == 0u) scales_bits[of_scale] = floatBitsToUint(scale);
}
