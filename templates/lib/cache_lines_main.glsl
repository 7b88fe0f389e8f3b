// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels that quantize keys and values and write them into caches. A workgroup has a row of a head.
$include "lib/cache_codes.glsl"
$include "lib/cache_rows.glsl"
$needs uint workgroup_index()
$needs CacheRow cache_row(uint line)

float new_element(bool is_key, uint at) { return real_of(is_key ? uint(key_bits[at]) : uint(value_bits[at])); }

void store(bool is_key, uint at, uint code) {
  if (is_key) keys_bits[at] = uint8_t(code);
  else values_bits[at] = uint8_t(code);
}

void main() {
  const uint group = workgroup_index(), here = gl_LocalInvocationIndex;
  const uint index = group * ${workgroup} + here;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (group >= 2u * problem.lines) return;
  const bool is_key = group < problem.lines;
  const CacheRow row = cache_row(is_key ? group : group - problem.lines);
  if (!row.is_stored) return;   // the same for the whole workgroup, as below
  const uint width = is_key ? problem.width : problem.value_width, of_scale = 2u * row.place + (is_key ? 0u : 1u);
  if (!row.is_new) {
    for (uint d = here; d < width; d += ${workgroup}) {
      const uint at = row.place * width + d;
      store(is_key, at, is_key ? uint(key_cache_bits[at]) : uint(value_cache_bits[at]));
    }
    if (here == 0u) scales_bits[of_scale] = scale_cache_bits[of_scale];
    return;
  }
  const uint from = ((row.batch * problem.rows + row.row) * problem.heads + row.head) * width;
  uint magnitude = 0u;
  for (uint d = here; d < width; d += ${workgroup}) {
    magnitude = max(magnitude, floatBitsToUint(new_element(is_key, from + d)) & kMagnitude);
  }
  const float scale = row_scale(magnitude), inverse = inverse_of(scale);
  for (uint d = here; d < width; d += ${workgroup}) {
    store(is_key, row.place * width + d, code_of(new_element(is_key, from + d), inverse));
  }
  if (here == 0u) scales_bits[of_scale] = floatBitsToUint(scale);
}
