// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Queries and keys of new rows are rotated as by rotary_embedding.comp, and keys and values are written into their
// caches as by cache_write.comp: docs/attention.md. An invocation has a pair of elements: first those of queries, then
// those of keys, then those of values. With only_new it visits new rows only, and else whole caches. Positions are
// data, so each is compared with the capacity and with the table of angles.
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
${declare(last)}
${declare_bits(rotated)}
${declare_bits(keys)}
${declare_bits(values)}
${declare(lengths)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"

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

Head key_head(uint part, uint line) {
  const uint visited = ${only_rows} ? problem.rows : problem.capacity;
  const uint matrix = line / visited, head = matrix % problem.key_heads, batch = matrix / problem.key_heads;
  const uint first = first_row(batch);
  const uint position = line % visited + (${only_rows} ? first : 0u), row = position - first;
  const uint before = ${packed} ? problem.heads + (part == kValues ? problem.key_heads : 0u) : 0u;
  const uint heads = ${packed} ? problem.row_heads : problem.key_heads;
  const uint from = ((batch * problem.rows + row) * heads + before + head) * problem.width;
  return Head(part, from, (matrix * problem.capacity + position) * problem.width, position, row < problem.rows,
              position < problem.capacity);
}

void move_pair(Head head, uint pair) {
  const uint at = 2u * pair, count = min(problem.width - at, 2u);
  for (uint i = 0u; i < count; ++i) {
    const uint bits = head.is_new ? new_bits(head.part, head.from + at + i) : cached_bits(head.part, head.to + at + i);
    store(head.part, head.to + at + i, bits);
  }
}

void rotate_pair(Head head, uint pair) {
  float c = 0.0, s = 0.0;
  if (head.position < problem.table_rows) {
    c = real_of(uint(cos_bits[head.position * problem.angles + pair]));
    s = real_of(uint(sin_bits[head.position * problem.angles + pair]));
  }
  const uint at = ${are_neighbours} ? 2u * pair : pair, behind = at + (${are_neighbours} ? 1u : problem.angles);
  const float x = real_of(new_bits(head.part, head.from + at)), other = real_of(new_bits(head.part, head.from + behind));
  precise const float y = x * c - other * s;
  precise const float z = other * c + x * s;
  store(head.part, head.to + at, bits_of(y));
  store(head.part, head.to + behind, bits_of(z));
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (index >= problem.items) return;
  Head head;
  uint rest = index;
  if (index < problem.query_pairs) {
    head = query_head(index / problem.half_width);
  } else {
    rest -= problem.query_pairs;
    const uint part = rest < problem.key_pairs ? kKeys : kValues;
    if (part == kValues) rest -= problem.key_pairs;
    if (rest >= problem.key_pairs) return;   // there may be more batches than pairs
    head = key_head(part, rest / problem.half_width);
  }
  if (!head.is_stored) return;
  const uint pair = rest % problem.half_width;
  if (head.is_new && head.part != kValues && pair < problem.angles) rotate_pair(head, pair);
  else move_pair(head, pair);
}
