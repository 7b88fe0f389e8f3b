// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention where an invocation has a key: the kernel of attention/attention.comp (`real`), and the same with keys and
// values of int8 (`codes`).

$part memory
const uint kWorkgroup = ${tile.workgroup};
const uint kRows = ${tile.rows};
const uint kWidth = ${tile.width};
const uint kColumns = ${tile.columns};
const uint kMembers = kWorkgroup / kRows;   // invocations that share a row

shared float queries[kRows * kWidth];
shared float scores[kRows * kWorkgroup];   // then weights
shared float parts[kWorkgroup];
shared float factors[kRows];

$if input_dtype == f16
void store(uint index, float value) { output_bits[index] = uint16_t(f32_to_f16(value)); }
$else
void store(uint index, float value) { output_bits[index] = floatBitsToUint(value); }
$end

$part real
// The kernel of attention/attention.comp and attention/attention_paged.comp.
$include "lib/attention_rows.glsl" memory
$if wide
${declare_vectors(key)}
const uint kPerVector = ${16 / bytes(input_dtype)}u;
$include "lib/unpack_vector.glsl"
$end

#define KEY_ELEMENT(at) real_of(uint(key_bits[at]))
#define VALUE_ELEMENT(at) real_of(uint(value_bits[at]))
#define KEY_PRODUCT(product, batch, head, key) product
#define VALUE_WEIGHT(weight, batch, head, key, end) weight
$include "lib/attention_rows.glsl" sums

$part codes
// The kernel of attention/attention_q8rs.comp and attention/attention_paged_q8rs.comp.
$include "lib/attention_scores.glsl" scales

$include "lib/attention_rows.glsl" memory
$if wide
${declare_vectors(key)}
const uint kPerVector = 16u;
#define VECTORS_ARE_CODES  // in lib/unpack_vector.glsl
$include "lib/unpack_vector.glsl"
$end

#define KEY_ELEMENT(at) float(bitfieldExtract(int(key_bits[at]), 0, 8))
#define VALUE_ELEMENT(at) float(bitfieldExtract(int(value_bits[at]), 0, 8))
#define KEY_PRODUCT(product, batch, head, key) (product) * key_scale(batch, head, key)
#define VALUE_WEIGHT(weight, batch, head, key, end) value_weight(weight, batch, head, key, end)
$include "lib/attention_rows.glsl" sums

$part sums
// The main() of both, with what they define:
//
//   KEY_ELEMENT, VALUE_ELEMENT   an element as a float
//   KEY_PRODUCT                  the product with a key, of the product with its elements
//   VALUE_WEIGHT                 the factor of the elements of a value, of the key's weight
//   KEY_AT, VALUE_AT, NEXT_VALUE where keys and values are: lib/attention_scores.glsl
#extension GL_EXT_control_flow_attributes : require
// The products of key `at` and the rows of queries.
void multiply(uint at, inout float sums[kRows]) {
$if wide
  for (uint v = 0u; v < problem.width / kPerVector; ++v) {
    float x[kPerVector];
    unpack_vector(key_vectors[at / kPerVector + v], x);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      [[unroll]] for (uint i = 0u; i < kPerVector; ++i) sums[r] += x[i] * queries[r * kWidth + v * kPerVector + i];
    }
  }
$else
  for (uint d = 0u; d < problem.width; ++d) {
    const float x = KEY_ELEMENT(at + d);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r] += x * queries[r * kWidth + d];
  }
$end
}

void main() {
  const uint row_tiles = problem.rows / kRows + uint(problem.rows % kRows != 0u);
  const uint index = workgroup_index();   // the same for all invocations, so that none misses a barrier
  if (index >= row_tiles * problem.key_heads * problem.batches) return;
  const uint first_row = index % row_tiles * kRows, matrix = index / row_tiles;
  const uint key_head = matrix % problem.key_heads, batch = matrix / problem.key_heads;
  const uint first_head = key_head * problem.group;
  const uint here = gl_LocalInvocationIndex;

  for (uint e = here; e < kRows * kWidth; e += kWorkgroup) {
    const uint row = first_row + e / kWidth, d = e % kWidth;
    float x = 0.0;
    if (row < problem.rows && d < problem.width) {
      x = real_of(uint(query_bits[batch * problem.query_strides[0] +
                                  (first_head + row % problem.group) * problem.query_strides[1] +
                                  row / problem.group * problem.query_strides[2] + d]));
    }
    queries[e] = x;
  }

  const int keys = keys_of_batch(batch);
  const uint last_row = min(first_row + kRows, problem.rows) - 1u;
  const int tile_begin = keys_of_query(int(first_row / problem.group), keys).x;
  const int tile_end = keys_of_query(int(last_row / problem.group), keys).y;

  float sums[kRows][kColumns];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    [[unroll]] for (uint n = 0u; n < kColumns; ++n) sums[r][n] = 0.0;
  }
  // Of the row that this invocation shares.
  const uint own_row = here / kMembers, member = here % kMembers;
  float greatest = minus_infinity(), total = 0.0;
  barrier();

  for (int block = tile_begin; block < tile_end; block += int(kWorkgroup)) {
    const int key = block + int(here);
    float products[kRows];
    [[unroll]] for (uint r = 0u; r < kRows; ++r) products[r] = 0.0;
    if (key < tile_end) {
      multiply(KEY_AT(batch * problem.key_strides[0] + key_head * problem.key_strides[1], batch, key_head, uint(key)),
               products);
    }
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const uint row = first_row + r;
      const int query = int(row / problem.group);
      const ivec2 of_row = keys_of_query(query, keys);
      float score = minus_infinity();
      if (row < problem.rows && key >= of_row.x && key < of_row.y) {
        score = score_of(KEY_PRODUCT(products[r], batch, key_head, key), batch, first_head + row % problem.group, query,
                         key);
      }
      scores[r * kWorkgroup + here] = score;
    }
    barrier();

    float best = minus_infinity();
    [[unroll]] for (uint i = 0u; i < kRows; ++i)
      best = max(best, scores[own_row * kWorkgroup + i * kMembers + member]);
    parts[here] = best;
    barrier();
    for (uint i = 0u; i < kMembers; ++i) best = max(best, parts[own_row * kMembers + i]);
    best = max(best, greatest);
    // A row that has seen only -infinity has added up nothing.
    const bool is_empty = is_minus_infinity(best);
    const float factor = is_empty || is_minus_infinity(greatest) ? 0.0 : weight_of(greatest - best);
    greatest = best;
    total *= factor;
    [[unroll]] for (uint i = 0u; i < kRows; ++i) {
      const uint at = own_row * kWorkgroup + i * kMembers + member;
      const float score = scores[at];
      const float weight = is_minus_infinity(score) ? 0.0 : weight_of(score - (is_empty ? 0.0 : best));
      total += weight;
      const int key = block + int(i * kMembers + member);
      scores[at] = VALUE_WEIGHT(weight, batch, key_head, key, tile_end);
    }
    if (member == 0u) factors[own_row] = factor;
    barrier();

    const uint count = uint(min(tile_end - block, int(kWorkgroup)));
    [[unroll]] for (uint n = 0u; n < kColumns; ++n) {
      const uint column = n * kWorkgroup + here;
      if (column >= problem.value_width) continue;
      [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r][n] *= factors[r];
      const uint first_value = batch * problem.value_strides[0] + key_head * problem.value_strides[1];
      uint at = VALUE_AT(first_value, batch, key_head, uint(block)) + column;
      for (uint c = 0u; c < count; ++c) {
        const float x = VALUE_ELEMENT(at);
        at = NEXT_VALUE(at, batch, key_head, uint(block) + c);
        [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r][n] += scores[r * kWorkgroup + c] * x;
      }
    }
    barrier();
  }

  parts[here] = total;
  barrier();
  if (member == 0u) {
    float all = 0.0;
    for (uint i = 0u; i < kMembers; ++i) all += parts[here + i];
    factors[own_row] = all == 0.0 ? 0.0 : 1.0 / all;   // no key: zeros
  }
  barrier();
  [[unroll]] for (uint n = 0u; n < kColumns; ++n) {
    const uint column = n * kWorkgroup + here;
    if (column >= problem.value_width) continue;
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const uint row = first_row + r;
      if (row >= problem.rows) continue;
      store(batch * problem.output_strides[0] + (first_head + row % problem.group) * problem.output_strides[1] +
                row / problem.group * problem.output_strides[2] + column,
            sums[r][n] * factors[r]);
    }
  }
}
