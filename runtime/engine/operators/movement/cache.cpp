// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/movement/cache_write.yaml and cache_write_q8rs.yaml. docs/movement.md has the rules.
#include <fmt/format.h>

#include <algorithm>

#include "cache_write.h"
#include "cache_write_q8rs.h"
#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

Done check_dtype(std::string_view name, const TensorDesc& given, const TensorDesc& key_cache) {
  if (given.dtype == key_cache.dtype) return std::monostate{};
  return refused(
      fmt::format("{} is {}, and key_cache is {}", name, qgen::name(given.dtype), qgen::name(key_cache.dtype)),
      "both must have the same dtype");
}

Done check_rows(int64_t rows, int64_t capacity) {
  if (rows <= capacity) return std::monostate{};
  return refused(fmt::format("there are {} new rows, and the cache has room for {}", rows, capacity));
}

}  // namespace

Expected<Call> infer(const CacheWriteInputs<Described>& inputs, const CacheWriteAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  const TensorDesc &key = inputs.key, &value = inputs.value;
  if (Done same = check_dtype("value_cache", value_cache, key_cache); !same) return same.error();
  if (Done same = check_dtype("key", key, key_cache); !same) return same.error();
  if (Done same = check_dtype("value", value, key_cache); !same) return same.error();
  const int64_t batches = key_cache.shape[0], heads = key_cache.shape[1], capacity = key_cache.shape[2];
  const int64_t width = key_cache.shape[3], value_width = value_cache.shape[3], rows = key.shape[1];
  if (Done fits = check_rows(rows, capacity); !fits) return fits.error();
  const int64_t lines = batches * heads * (attributes.only_new ? rows : capacity);
  const bool is_empty = lines * std::max(width, value_width) == 0;  // a side may be past 32 bits
  const cache_write::Problem fields{
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
  const TensorDesc keys{key_cache.dtype, key_cache.shape}, values{value_cache.dtype, value_cache.shape};
  return make_call(fields, {.key_cache = key_cache,
                            .value_cache = value_cache,
                            .key = key,
                            .value = value,
                            .last = inputs.last,
                            .keys = keys,
                            .values = values,
                            .lengths = TensorDesc{DType::i32, {batches}}});
}

Expected<Call> infer(const CacheWriteQ8rsInputs<Described>& inputs, const CacheWriteQ8rsAttributes& attributes) {
  const TensorDesc &key_cache = inputs.key_cache, &value_cache = inputs.value_cache;
  const TensorDesc &key = inputs.key, &value = inputs.value;
  if (value.dtype != key.dtype)
    return refused(fmt::format("value is {}, and key is {}", name(value.dtype), name(key.dtype)),
                   "both must have the same dtype");
  const int64_t batches = key_cache.shape[0], heads = key_cache.shape[1], capacity = key_cache.shape[2];
  const int64_t rows = key.shape[1];
  if (Done fits = check_rows(rows, capacity); !fits) return fits.error();
  const int64_t lines = batches * heads * (attributes.only_new ? rows : capacity);
  const bool is_empty = lines == 0;  // a side may be past 32 bits
  const cache_write_q8rs::Problem fields{
      .batches = u32(batches),
      .heads = is_empty ? 1 : u32(heads),
      .capacity = u32(capacity),
      .rows = u32(rows),
      .width = is_empty ? 1 : u32(key_cache.shape[3]),
      .value_width = is_empty ? 1 : u32(value_cache.shape[3]),
      .lines = u32(lines),
      .only_new = attributes.only_new ? 1u : 0u,
  };
  return make_call(fields, {.key_cache = key_cache,
                            .value_cache = value_cache,
                            .scale_cache = inputs.scale_cache,
                            .key = key,
                            .value = value,
                            .last = inputs.last,
                            .keys = TensorDesc{DType::i8, key_cache.shape},
                            .values = TensorDesc{DType::i8, value_cache.shape},
                            .scales = TensorDesc{DType::f32, inputs.scale_cache->shape},
                            .lengths = TensorDesc{DType::i32, {batches}}});
}

}  // namespace qgen::generated::operators
