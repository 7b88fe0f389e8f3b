// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The keys that a query attends to, and their scores (docs/attention.md).
$include "lib/float16.glsl"
$include "lib/exponential.glsl"
$gives KEY_AT
$gives VALUE_AT
$gives NEXT_VALUE
$gives float real_of(uint bits)
$gives int keys_of_batch(uint batch)
$gives ivec2 keys_of_query(int query, int keys)
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
// blocks, lib/paged_keys.glsl replaces these.
#define KEY_AT(first, batch, head, key) ((first) + (key) * problem.key_strides[2])
#define VALUE_AT(first, batch, head, key) ((first) + (key) * problem.value_strides[2])
#define NEXT_VALUE(at, batch, head, key) (at + problem.value_strides[2])
