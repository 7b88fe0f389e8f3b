// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The keys that a query attends to, and their scores (docs/attention.md). For caches in blocks there is the part
// `paged` too, and for int8 keys and values the part `scales`. The part `slices` is for keys in slices.
$include "lib/float16.glsl"
$include "lib/exponential.glsl"
$gives KEY_AT
$gives VALUE_AT
$gives NEXT_VALUE
$gives float real_of(uint bits)
$gives float score_of(float product, uint batch, uint head, int query, int key)

$if input_dtype == f16
float real_of(uint bits) { return f16_to_f32(bits); }
float mask_at(uint index) { return f16_to_f32(mask_words[index / 2u] >> index % 2u * 16u & 0xffffu); }
$else
float real_of(uint bits) { return uintBitsToFloat(bits); }
float mask_at(uint index) { return uintBitsToFloat(mask_words[index]); }
$end

// 1 - 2 e / (1 + e), with e = exp(-2 |x|).
float tangent(float x) {
  const float e = weight_of(-2.0 * min(abs(x), 44.0));
  const float t = (1.0 - e) / (1.0 + e);
  return isnan(x) ? x : x < 0.0 ? -t : t;
}

$include "lib/attention_scores.glsl" keys

float score_of(float product, uint batch, uint head, int query, int key) {
  float score = product * problem.scale;
  if (${capped}) score = problem.softcap * tangent(score / problem.softcap);
  if (${masked}) {
    score += mask_at(batch * problem.mask_strides[0] + head * problem.mask_strides[1] +
                     uint(query) * problem.mask_strides[2] + uint(key) * problem.mask_strides[3]);
  }
  return score;
}

// The offsets of keys and values in tensors with all keys of a batch. `first` is the head's first key. For caches in
// blocks, the part `paged` replaces these.
#define KEY_AT(first, batch, head, key) ((first) + (key) * problem.key_strides[2])
#define VALUE_AT(first, batch, head, key) ((first) + (key) * problem.value_strides[2])
#define NEXT_VALUE(at, batch, head, key) (at + problem.value_strides[2])

$part keys
// Which keys a batch has, and which of them a row of its queries uses.
$gives int keys_of_batch(uint batch)
$gives ivec2 keys_of_query(int query, int keys)

int keys_of_batch(uint batch) {
  const int keys = int(problem.keys);
  return problem.has_lengths == 0u ? keys : clamp(key_lengths_data[batch], 0, keys);
}

// The keys [x, y) that a row of queries has, of a batch with `keys` keys.
ivec2 keys_of_query(int query, int keys) {
  if (problem.causal == kCausalNone) return ivec2(0, keys);
  const int end = query + 1 + (problem.causal == kCausalToLast ? keys - int(problem.queries) : 0);
  return ivec2(problem.window != 0u ? max(0, end - int(problem.window)) : 0, min(end, keys));
}

$part slices
// The slices of the keys of a tile. How many have keys depends on the length of the sequence: the first ones. So a
// recorded launch is right for all lengths.
$gives uint kLeastSliceBits
$gives uint take_slice(uint slice, inout int begin, inout int end)

const uint kLeastSliceBits = 7u;   // a slice has 128 keys, or a larger power of two

// Of the keys [begin, end), takes those of a slice, and returns how many slices have keys. The others get any. Integer
// divisions would take longer than the loop, which has no round for most tiles.
uint take_slice(uint slice, inout int begin, inout int end) {
  const uint keys = uint(max(end - begin, 0));
  uint bits = kLeastSliceBits;
  while ((keys + (1u << bits) - 1u) >> bits > problem.slices) ++bits;
  const uint first = slice << bits;
  end = begin + int(min(first + (1u << bits), keys));
  begin += int(first);
  return (keys + (1u << bits) - 1u) >> bits;
}

$part paged
// The offsets of keys and values in caches that consist of blocks of block_size keys: docs/attention.md. The table of
// blocks is data. So an entry that is no block counts as the last block, and no load is outside of the caches.
$include "lib/attention_scores.glsl"
$gives KEY_AT
$gives VALUE_AT
$gives NEXT_VALUE

uint paged_at(uint batch, uint head, uint key, uint strides[3]) {
  const uint entry = min(key >> findMSB(problem.block_size), problem.blocks_per_row - 1u);
  const uint block = min(uint(blocks_data[batch * problem.blocks_per_row + entry]), problem.block_count - 1u);
  return block * strides[0] + head * strides[1] + (key & problem.block_size - 1u) * strides[2];
}

// `at` is in the value of `key`.
uint value_behind(uint at, uint batch, uint head, uint key) {
  if ((key + 1u & problem.block_size - 1u) != 0u) return at + problem.value_strides[2];
  return at - paged_at(batch, head, key, problem.value_strides) + paged_at(batch, head, key + 1u, problem.value_strides);
}

#undef KEY_AT
#undef VALUE_AT
#undef NEXT_VALUE
#define KEY_AT(first, batch, head, key) paged_at(batch, head, key, problem.key_strides)
#define VALUE_AT(first, batch, head, key) paged_at(batch, head, key, problem.value_strides)
#define NEXT_VALUE(at, batch, head, key) value_behind(at, batch, head, key)

$part scales
// The scales of attention with int8 keys and values (docs/attention.md). A key's scale and its value's are neighbours.
// Products are computed with integers as floats. So a key's scale is a factor of the score, and a value's is one of the
// weight.
$needs KEY_AT
$needs VALUE_AT
$gives float key_scale(uint batch, uint head, int key)
$gives float value_weight(float weight, uint batch, uint head, int key, int end)

// An infinite scale counts as NaN.
float scale_at(uint index) {
  const uint bits = scales_words[index];
  return uintBitsToFloat((bits & 0x7f800000u) == 0x7f800000u ? 0x7fc00000u : bits);
}

// The scales have the rows of the keys, and those of the values: the row of an element is its offset / the width.
float key_scale(uint batch, uint head, int key) {
  if (problem.width == 0u) return 0.0;
  const uint first = batch * problem.key_strides[0] + head * problem.key_strides[1];
  return scale_at(2u * (KEY_AT(first, batch, head, uint(key)) / problem.width));
}

// A key from `end` on has none: its scale may be any number.
float value_weight(float weight, uint batch, uint head, int key, int end) {
  if (key >= end || problem.value_width == 0u) return 0.0;
  const uint first = batch * problem.value_strides[0] + head * problem.value_strides[1];
  return weight * scale_at(2u * (VALUE_AT(first, batch, head, uint(key)) / problem.value_width) + 1u);
}
