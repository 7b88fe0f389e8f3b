// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/movement/cache_write*.yaml. docs/movement.md has the rules.
#include <fmt/format.h>

#include <algorithm>

#include "cache_write.h"
#include "cache_write_paged.h"
#include "cache_write_paged_q8rs.h"
#include "cache_write_q8rs.h"
#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/block_table.h"
#include "runtime/engine/operators/same_as.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

Done check_rows(int64_t rows, int64_t capacity) {
  if (rows <= capacity) return std::monostate{};
  return refused(fmt::format("there are {} new rows, and the cache has room for {}", rows, capacity));
}

template <typename Inputs>
Done check_dtypes(const Inputs& inputs) {
  for (const auto& [name, given] :
       {std::pair{"value_cache", &inputs.value_cache}, {"key", &inputs.key}, {"value", &inputs.value}}) {
    if (Done same = check_same_dtype(name, *given, "key_cache", inputs.key_cache); !same) return same;
  }
  return std::monostate{};
}

// What cache_write and cache_write_paged share. `cached_rows`: of a head of the caches, of all batches.
template <typename Inputs, typename Attributes>
fields::CacheElements elements_of(const Inputs& inputs, const Attributes& attributes, int64_t capacity,
                                  int64_t cached_rows) {
  const int64_t batches = inputs.key->shape[0], rows = inputs.key->shape[1], heads = inputs.key->shape[2];
  const int64_t width = inputs.key->shape[3], value_width = inputs.value->shape[3];
  const int64_t lines = heads * (attributes.only_new ? batches * rows : cached_rows);
  const bool is_empty = lines * std::max(width, value_width) == 0;  // a side may be past 32 bits
  return {
      .batches = u32(batches),
      .heads = is_empty ? 1 : u32(heads),
      .capacity = u32(capacity),
      .rows = u32(rows),
      .width = is_empty ? 1 : u32(width),
      .value_width = is_empty ? 1 : u32(value_width),
      .keys_count = is_empty ? 0 : u32(lines * width),
      .items = std::max(is_empty ? 0 : u32(lines * (width + value_width)), u32(batches)),
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

// What the operators of int8 caches share. `cached_rows`: as above.
template <typename Inputs, typename Attributes>
fields::CacheLines lines_of(const Inputs& inputs, const Attributes& attributes, int64_t capacity, int64_t cached_rows) {
  const int64_t batches = inputs.key->shape[0], rows = inputs.key->shape[1], heads = inputs.key->shape[2];
  const int64_t lines = heads * (attributes.only_new ? batches * rows : cached_rows);
  const bool is_empty = lines == 0;  // a side may be past 32 bits
  return {
      .batches = u32(batches),
      .heads = is_empty ? 1 : u32(heads),
      .capacity = u32(capacity),
      .rows = u32(rows),
      .width = is_empty ? 1 : u32(inputs.key->shape[3]),
      .value_width = is_empty ? 1 : u32(inputs.value->shape[3]),
      .lines = u32(lines),
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

}  // namespace

Expected<Call> infer(const CacheWriteInputs<Described>& inputs, const CacheWriteAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  if (Done same = check_dtypes(inputs); !same) return same.error();
  const int64_t batches = key_cache.shape[0], capacity = key_cache.shape[2];
  if (Done fits = check_rows(inputs.key->shape[1], capacity); !fits) return fits.error();
  const cache_write::Problem fields{.cache_elements = elements_of(inputs, attributes, capacity, batches * capacity)};
  return make_call(fields, inputs,
                   {.keys = TensorDesc{key_cache.dtype, key_cache.shape},
                    .values = TensorDesc{value_cache.dtype, value_cache.shape},
                    .lengths = TensorDesc{DType::i32, {batches}}});
}

Expected<Call> infer(const CacheWritePagedInputs<Described>& inputs, const CacheWritePagedAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  if (Done same = check_dtypes(inputs); !same) return same.error();
  const int64_t block_count = key_cache.shape[0], block_size = key_cache.shape[2];
  const auto capacity = checked_capacity(block_count, block_size, inputs.blocks);
  if (!capacity) return capacity.error();
  if (Done fits = check_rows(inputs.key->shape[1], *capacity); !fits) return fits.error();
  const cache_write_paged::Problem fields{
      .cache_elements = elements_of(inputs, attributes, *capacity, block_count * block_size),
      .block_table = block_table_of(block_count, block_size, inputs.blocks)};
  return make_call(fields, inputs,
                   {.keys = TensorDesc{key_cache.dtype, key_cache.shape},
                    .values = TensorDesc{value_cache.dtype, value_cache.shape},
                    .lengths = TensorDesc{DType::i32, {inputs.key->shape[0]}}});
}

Expected<Call> infer(const CacheWriteQ8rsInputs<Described>& inputs, const CacheWriteQ8rsAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  if (Done same = check_same_dtype("value", inputs.value, "key", inputs.key); !same) return same.error();
  const int64_t batches = key_cache.shape[0], capacity = key_cache.shape[2];
  if (Done fits = check_rows(inputs.key->shape[1], capacity); !fits) return fits.error();
  const cache_write_q8rs::Problem fields{.cache_lines = lines_of(inputs, attributes, capacity, batches * capacity)};
  return make_call(fields, inputs,
                   {.keys = TensorDesc{DType::i8, key_cache.shape},
                    .values = TensorDesc{DType::i8, value_cache.shape},
                    .scales = TensorDesc{DType::f32, inputs.scale_cache->shape},
                    .lengths = TensorDesc{DType::i32, {batches}}});
}

Expected<Call> infer(const CacheWritePagedQ8rsInputs<Described>& inputs,
                     const CacheWritePagedQ8rsAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  if (Done same = check_same_dtype("value", inputs.value, "key", inputs.key); !same) return same.error();
  const int64_t block_count = key_cache.shape[0], block_size = key_cache.shape[2];
  const auto capacity = checked_capacity(block_count, block_size, inputs.blocks);
  if (!capacity) return capacity.error();
  if (Done fits = check_rows(inputs.key->shape[1], *capacity); !fits) return fits.error();
  const cache_write_paged_q8rs::Problem fields{
      .cache_lines = lines_of(inputs, attributes, *capacity, block_count * block_size),
      .block_table = block_table_of(block_count, block_size, inputs.blocks)};
  return make_call(fields, inputs,
                   {.keys = TensorDesc{DType::i8, key_cache.shape},
                    .values = TensorDesc{DType::i8, value_cache.shape},
                    .scales = TensorDesc{DType::f32, inputs.scale_cache->shape},
                    .lengths = TensorDesc{DType::i32, {inputs.key->shape[0]}}});
}

}  // namespace qgen::generated::operators
