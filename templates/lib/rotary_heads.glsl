// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The elements and the heads of attention/rotary_cache_write.comp. The file that includes this one then defines
// key_head(), and includes lib/rotary_heads_main.glsl.
const uint kQueries = 0u, kKeys = 1u, kValues = 2u;

$if dtype == f16
float real_of(uint bits) { return f16_to_f32(bits); }
uint bits_of(float x) { return f32_to_f16(x); }
void store(uint part, uint at, uint bits) {
  if (part == kQueries) rotated_bits[at] = uint16_t(bits);
  else if (part == kKeys) keys_bits[at] = uint16_t(bits);
  else values_bits[at] = uint16_t(bits);
}
$else
float real_of(uint bits) { return uintBitsToFloat(bits); }
uint bits_of(float x) { return floatBitsToUint(x); }
void store(uint part, uint at, uint bits) {
  if (part == kQueries) rotated_bits[at] = bits;
  else if (part == kKeys) keys_bits[at] = bits;
  else values_bits[at] = bits;
}
$end

// An element of new rows.
uint new_bits(uint part, uint at) {
  if (part == kQueries || ${packed}) return uint(query_bits[at]);
  return part == kKeys ? uint(key_bits[at]) : uint(value_bits[at]);
}
uint cached_bits(uint part, uint at) { return part == kKeys ? uint(key_cache_bits[at]) : uint(value_cache_bits[at]); }

$include "lib/cache_rows.glsl"

// A head of a row: where it is stored, and where it comes from. A cached one comes from the same place of the cache.
struct Head { uint part, from, to, position; bool is_new, is_stored; };

Head query_head(uint line) {
  const uint row = line / problem.heads, head = line % problem.heads;   // of all batches
  const uint position = first_row(row / problem.rows) + row % problem.rows;
  return Head(kQueries, (row * problem.row_heads + head) * problem.width, line * problem.width, position, true, true);
}
