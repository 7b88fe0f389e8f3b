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
#include "runtime/engine/operators/cache_rows.h"
#include "runtime/engine/operators/same_as.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

Done check_dtypes(const auto& inputs) {
  return check_same_dtypes({{"value_cache", inputs.value_cache}, {"key", inputs.key}, {"value", inputs.value}},
                           "key_cache", inputs.key_cache);
}

// What cache_write and cache_write_paged share.
fields::CacheElements elements_of(const auto& inputs, const auto& attributes, const CacheRows& cache) {
  const int64_t batches = inputs.key->shape[0], rows = inputs.key->shape[1], heads = inputs.key->shape[2];
  const int64_t width = inputs.key->shape[3], value_width = inputs.value->shape[3];
  const int64_t lines = heads * (attributes.only_new ? batches * rows : cache.stored);
  const bool is_empty = lines * std::max(width, value_width) == 0;  // a side may be past 32 bits
  return {
      .batches = u32(batches),
      .heads = is_empty ? 1 : u32(heads),
      .capacity = u32(cache.capacity),
      .rows = u32(rows),
      .width = is_empty ? 1 : u32(width),
      .value_width = is_empty ? 1 : u32(value_width),
      .keys_count = is_empty ? 0 : u32(lines * width),
      .items = std::max(is_empty ? 0 : u32(lines * (width + value_width)), u32(batches)),
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

template <typename Fields>
Call elements_call(const Fields& fields, const auto& inputs) {
  const TensorDesc &keys = inputs.key_cache, &values = inputs.value_cache;
  return make_call(fields, inputs,
                   {.keys = TensorDesc{keys.dtype, keys.shape},
                    .values = TensorDesc{values.dtype, values.shape},
                    .lengths = TensorDesc{DType::i32, {inputs.key->shape[0]}}});
}

// What the operators of int8 caches share.
fields::CacheLines lines_of(const auto& inputs, const auto& attributes, const CacheRows& cache) {
  const int64_t batches = inputs.key->shape[0], rows = inputs.key->shape[1], heads = inputs.key->shape[2];
  const int64_t lines = heads * (attributes.only_new ? batches * rows : cache.stored);
  const bool is_empty = lines == 0;  // a side may be past 32 bits
  return {
      .batches = u32(batches),
      .heads = is_empty ? 1 : u32(heads),
      .capacity = u32(cache.capacity),
      .rows = u32(rows),
      .width = is_empty ? 1 : u32(inputs.key->shape[3]),
      .value_width = is_empty ? 1 : u32(inputs.value->shape[3]),
      .lines = u32(lines),
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

template <typename Fields>
Call lines_call(const Fields& fields, const auto& inputs) {
  return make_call(fields, inputs,
                   {.keys = TensorDesc{DType::i8, inputs.key_cache->shape},
                    .values = TensorDesc{DType::i8, inputs.value_cache->shape},
                    .scales = TensorDesc{DType::f32, inputs.scale_cache->shape},
                    .lengths = TensorDesc{DType::i32, {inputs.key->shape[0]}}});
}

}  // namespace

Expected<Call> infer(const CacheWriteInputs<Described>& inputs, const CacheWriteAttributes& attributes) {
  if (Done same = check_dtypes(inputs); !same) return same.error();
  const CacheRows cache = rows_in(inputs.key_cache);
  if (Done fits = check_room(inputs.key->shape[1], cache); !fits) return fits.error();
  return elements_call(cache_write::Problem{.cache_elements = elements_of(inputs, attributes, cache)}, inputs);
}

Expected<Call> infer(const CacheWritePagedInputs<Described>& inputs, const CacheWritePagedAttributes& attributes) {
  if (Done same = check_dtypes(inputs); !same) return same.error();
  const auto cache = blocks_in(inputs.key_cache, inputs.blocks);
  if (!cache) return cache.error();
  if (Done fits = check_room(inputs.key->shape[1], *cache); !fits) return fits.error();
  const cache_write_paged::Problem fields{.cache_elements = elements_of(inputs, attributes, *cache),
                                          .block_table = cache->table};
  return elements_call(fields, inputs);
}

Expected<Call> infer(const CacheWriteQ8rsInputs<Described>& inputs, const CacheWriteQ8rsAttributes& attributes) {
  if (Done same = check_same_dtype("value", inputs.value, "key", inputs.key); !same) return same.error();
  const CacheRows cache = rows_in(inputs.key_cache);
  if (Done fits = check_room(inputs.key->shape[1], cache); !fits) return fits.error();
  return lines_call(cache_write_q8rs::Problem{.cache_lines = lines_of(inputs, attributes, cache)}, inputs);
}

Expected<Call> infer(const CacheWritePagedQ8rsInputs<Described>& inputs,
                     const CacheWritePagedQ8rsAttributes& attributes) {
  if (Done same = check_same_dtype("value", inputs.value, "key", inputs.key); !same) return same.error();
  const auto cache = blocks_in(inputs.key_cache, inputs.blocks);
  if (!cache) return cache.error();
  if (Done fits = check_room(inputs.key->shape[1], *cache); !fits) return fits.error();
  const cache_write_paged_q8rs::Problem fields{.cache_lines = lines_of(inputs, attributes, *cache),
                                               .block_table = cache->table};
  return lines_call(fields, inputs);
}

}  // namespace qgen::generated::operators
