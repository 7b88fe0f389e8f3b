// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels that rotate queries and keys, quantize keys and values, and write caches. A workgroup has a row
// of a head.
$include "lib/float16.glsl"
$include "lib/cache_codes.glsl"
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
