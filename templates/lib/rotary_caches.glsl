// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels that rotate queries and keys and write caches. Caches of f32 and f16 take the parts `heads` and `heads_main`,
// caches of int8 take `lines_main`.

$part heads
// The elements and the heads of attention/rotary_cache_write.comp. The file that includes this one then defines
// key_head(), and includes the part `heads_main`.
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

$part heads_main
// The main() of kernels that rotate queries and keys and write caches.
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

$part lines_main
// The main() of kernels that rotate queries and keys, quantize keys and values, and write caches. A workgroup has a row
// of a head.
$include "lib/float16.glsl"
$include "lib/cache_lines.glsl" codes
$include "lib/cache_rows.glsl"
$needs uint workgroup_index()
$needs CacheRow cache_row(uint line)

const uint kQueries = 0u, kKeys = 1u, kValues = 2u;

$if dtype == f16
void store_rotated(uint at, float x) { rotated_bits[at] = uint16_t(f32_to_f16(x)); }
$else
void store_rotated(uint at, float x) { rotated_bits[at] = floatBitsToUint(x); }
$end

float angle_of(uint bits) { return flush_subnormal(real_of(bits)); }

void store(uint part, uint at, uint code) {
  if (part == kKeys) keys_bits[at] = uint8_t(code);
  else values_bits[at] = uint8_t(code);
}

// An element of new rows.
float new_element(uint part, uint at) {
  if (part == kQueries || ${packed}) return flush_subnormal(real_of(uint(query_bits[at])));
  return flush_subnormal(real_of(part == kKeys ? uint(key_bits[at]) : uint(value_bits[at])));
}

// A row of a head: where it is stored, in rows, and where it comes from, in elements.
struct Line { uint part, from, to, position; bool is_new, is_stored; };

Line query_line(uint line) {
  const uint row = line / problem.heads, head = line % problem.heads;   // of all batches
  const uint position = first_row(row / problem.rows) + row % problem.rows;
  return Line(kQueries, (row * problem.row_heads + head) * problem.width, line, position, true, true);
}

Line cache_line(uint part, uint line) {
  const CacheRow row = cache_row(line);
  const uint before = ${packed} ? problem.heads + (part == kValues ? problem.key_heads : 0u) : 0u;
  const uint heads = ${packed} ? problem.row_heads : problem.key_heads;
  const uint from = ((row.batch * problem.rows + row.row) * heads + before + row.head) * problem.width;
  return Line(part, from, row.place, row.position, row.is_new, row.is_stored);
}

// A pair of elements of the line: which ones, their values, and whether there are two.
struct Pair { uint first, second; float x, y; bool is_rotated, is_whole; };

Pair pair_of(Line line, uint index) {
  Pair pair;
  pair.is_rotated = line.part != kValues && index < problem.angles;
  const bool are_halves = pair.is_rotated && !(${are_neighbours});
  pair.first = are_halves ? index : 2u * index;
  pair.second = are_halves ? index + problem.angles : pair.first + 1u;
  pair.is_whole = pair.second < problem.width;
  pair.x = new_element(line.part, line.from + pair.first);
  pair.y = pair.is_whole ? new_element(line.part, line.from + pair.second) : 0.0;
  if (!pair.is_rotated) return pair;
  float c = 0.0, s = 0.0;
  if (line.position < problem.table_rows) {
    c = angle_of(uint(cos_bits[line.position * problem.angles + index]));
    s = angle_of(uint(sin_bits[line.position * problem.angles + index]));
  }
  precise const float xc = pair.x * c, ys = pair.y * s, yc = pair.y * c, xs = pair.x * s;
  precise const float x = flush_product(xc) - flush_product(ys), y = flush_product(yc) + flush_product(xs);
  pair.x = flush_subnormal(x);
  pair.y = flush_subnormal(y);
  return pair;
}

void rotate_query(Line line) {
  for (uint index = gl_LocalInvocationIndex; index < problem.half_width; index += ${workgroup}) {
    const Pair pair = pair_of(line, index);
    const uint to = line.to * problem.width;
    if (pair.is_rotated) {
      store_rotated(to + pair.first, pair.x);
      store_rotated(to + pair.second, pair.y);
    } else {   // bit for bit
      rotated_bits[to + pair.first] = query_bits[line.from + pair.first];
      if (pair.is_whole) rotated_bits[to + pair.second] = query_bits[line.from + pair.second];
    }
  }
}

void keep_cached(Line line, uint of_scale) {
  for (uint d = gl_LocalInvocationIndex; d < problem.width; d += ${workgroup}) {
    const uint at = line.to * problem.width + d;
    store(line.part, at, line.part == kKeys ? uint(key_cache_bits[at]) : uint(value_cache_bits[at]));
  }
  if (gl_LocalInvocationIndex == 0u) scales_bits[of_scale] = scale_cache_bits[of_scale];
}

void quantize_line(Line line, uint of_scale) {
  uint magnitude = 0u;
  for (uint index = gl_LocalInvocationIndex; index < problem.half_width; index += ${workgroup}) {
    const Pair pair = pair_of(line, index);
    magnitude = max(magnitude, max(floatBitsToUint(pair.x) & kMagnitude, floatBitsToUint(pair.y) & kMagnitude));
  }
  const float scale = row_scale(magnitude), inverse = inverse_of(scale);
  for (uint index = gl_LocalInvocationIndex; index < problem.half_width; index += ${workgroup}) {
    const Pair pair = pair_of(line, index);
    const uint to = line.to * problem.width;
    store(line.part, to + pair.first, code_of(pair.x, inverse));
    if (pair.is_whole) store(line.part, to + pair.second, code_of(pair.y, inverse));
  }
  if (gl_LocalInvocationIndex == 0u) scales_bits[of_scale] = floatBitsToUint(scale);
}

void main() {
  const uint group = workgroup_index(), index = group * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (group < problem.query_lines) {
    rotate_query(query_line(group));
    return;
  }
  const uint rest = group - problem.query_lines;
  if (rest >= 2u * problem.lines) return;
  const uint part = rest < problem.lines ? kKeys : kValues;
  const Line line = cache_line(part, rest % problem.lines);
  if (!line.is_stored) return;   // the same for the whole workgroup
  const uint of_scale = 2u * line.to + (part == kKeys ? 0u : 1u);
  if (line.is_new) quantize_line(line, of_scale);
  else keep_cached(line, of_scale);
}
