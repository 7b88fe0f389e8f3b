// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
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
