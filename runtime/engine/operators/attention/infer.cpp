// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/attention. docs/attention.md has the formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention.h"
#include "attention_paged.h"
#include "attention_paged_q8rs.h"
#include "attention_q8rs.h"
#include "operators.h"
#include "rotary_cache_write.h"
#include "rotary_cache_write_paged.h"
#include "rotary_cache_write_paged_q8rs.h"
#include "rotary_cache_write_q8rs.h"
#include "rotary_embedding.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/cache_rows.h"
#include "runtime/engine/operators/same_as.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// How the kernel finds the row of cos and sin.
enum class Start : uint32_t { at_zero, at_one, of_rows, of_tables, of_last };

Expected<Start> start_of(const RotaryEmbeddingInputs<Described>& inputs, bool is_from_last, int64_t batches,
                         int64_t sequence) {
  const TensorDesc& cos = inputs.cos;
  if (is_from_last && (!inputs.positions || inputs.positions->shape != Shape{batches}))
    return refused("from_last is set, and positions are not [B]", "it needs a position for the last row of each batch");
  if (cos.shape.size() == 3) {
    if (inputs.positions)
      return refused(fmt::format("cos is {}, and there are positions", to_text(cos.shape)),
                     "positions are of a table [P, R]; a row for each row of the input needs none");
    if (cos.shape[0] == batches && cos.shape[1] == sequence) return Start::of_tables;
    return refused(
        fmt::format("cos is {}, and input has {} batches of {} rows", to_text(cos.shape), batches, sequence));
  }
  if (is_from_last) return Start::of_last;
  if (!inputs.positions) return Start::at_zero;
  const Shape& positions = inputs.positions->shape;
  if (positions == Shape{1}) return Start::at_one;
  if (positions == Shape{batches, sequence}) return Start::of_rows;
  return refused(
      fmt::format("positions is {}, and input has {} batches of {} rows", to_text(positions), batches, sequence));
}

Done check_angles(int64_t angles, int64_t width) {
  if (angles <= width / 2) return std::monostate{};
  return refused(fmt::format("cos has {} angles, and a head has {} elements", angles, width),
                 "an angle rotates two elements");
}

}  // namespace

Expected<Call> infer(const RotaryEmbeddingInputs<Described>& inputs, const RotaryEmbeddingAttributes& attributes) {
  const TensorDesc &input = inputs.input, &cos = inputs.cos, &sin = inputs.sin;
  if (Done same = check_same_dtypes({{"cos", cos}, {"sin", sin}}, "input", input); !same) return same.error();
  if (Done same = check_same_shape("sin", sin, "cos", cos); !same) return same.error();
  const int64_t batches = input.shape[0], width = input.shape[3], rotated = cos.shape.back();
  const int64_t heads = input.shape[attributes.heads_first ? 1 : 2];
  const int64_t sequence = input.shape[attributes.heads_first ? 2 : 1];
  if (Done fits = check_angles(rotated, width); !fits) return fits.error();
  const auto start = start_of(inputs, attributes.from_last, batches, sequence);
  if (!start) return start.error();
  const TensorDesc output{input.dtype, input.shape};
  const int64_t half_width = (width + 1) / 2;
  const bool is_empty = element_count(input.shape) == 0;  // a side may be past 32 bits
  const int64_t table_rows = element_count({cos.shape.begin(), cos.shape.end() - 1});
  const rotary_embedding::Problem fields{
      .pairs = is_empty ? 0 : u32(batches * heads * sequence * half_width),
      .width = is_empty ? 0 : u32(width),
      .half_width = is_empty ? 1 : u32(half_width),
      .rotated = is_empty ? 0 : u32(rotated),
      .heads = is_empty ? 1 : u32(heads),
      .sequence = is_empty ? 1 : u32(sequence),
      .table_rows = is_empty || rotated == 0 ? 0 : u32(table_rows),
      .start = static_cast<uint32_t>(*start),
      .interleaved = attributes.interleaved ? 1u : 0u,
      .heads_first = attributes.heads_first ? 1u : 0u,
  };
  return make_call(fields, inputs, {.output = output});
}

// ---- rotated rows in a cache ----------------------------------------------------------------------------------------

namespace {

// Of heads [B, S, X, D] and the caches: how many are queries, if the keys and values can be found.
Expected<int64_t> query_heads(const auto& inputs) {
  const TensorDesc &query = inputs.query, &key_cache = inputs.key_cache;
  const int64_t heads = query.shape[2], key_heads = key_cache.shape[1];
  if (inputs.key.has_value() != inputs.value.has_value())
    return refused(
        fmt::format("there is {}, and no {}", inputs.key ? "a key" : "a value", inputs.key ? "value" : "key"),
        "both are separate, or both are in query");
  if (inputs.key) return heads;
  if (heads >= 2 * key_heads) return heads - 2 * key_heads;
  return refused(fmt::format("query has {} heads, and the cache has {} heads of keys", heads, key_heads),
                 "without key and value, query has the heads of queries, keys and values");
}

Done check_dtypes(const auto& inputs) {
  const TensorDesc& query = inputs.query;
  if constexpr (!requires { inputs.scale_cache; }) {  // not of int8
    if (Done same =
            check_same_dtypes({{"key_cache", inputs.key_cache}, {"value_cache", inputs.value_cache}}, "query", query);
        !same)
      return same;
  }
  return check_same_dtypes({{"cos", inputs.cos}, {"sin", inputs.sin}, {"key", inputs.key}, {"value", inputs.value}},
                           "query", query);
}

// How many heads are queries.
Expected<int64_t> checked(const auto& inputs, const CacheRows& cache) {
  if (Done same = check_dtypes(inputs); !same) return same.error();
  auto heads = query_heads(inputs);
  if (!heads) return heads.error();
  if (Done fits = check_room(inputs.query->shape[1], cache); !fits) return fits.error();
  if (Done fits = check_angles(inputs.cos->shape[1], inputs.query->shape[3]); !fits) return fits.error();
  return heads;
}

// If nothing is rotated or written, a side may be past 32 bits.
fields::RotaryCache sizes_of(const auto& inputs, int64_t heads, const CacheRows& cache, bool is_empty) {
  const Shape &query = inputs.query->shape, &key_cache = inputs.key_cache->shape, &cos = inputs.cos->shape;
  return {
      .batches = u32(query[0]),
      .heads = is_empty ? 1 : u32(heads),
      .key_heads = is_empty ? 1 : u32(key_cache[1]),
      .row_heads = is_empty ? 1 : u32(query[2]),
      .capacity = u32(cache.capacity),
      .rows = u32(query[1]),
      .width = is_empty ? 1 : u32(query[3]),
      .half_width = is_empty ? 1 : u32((query[3] + 1) / 2),
      .angles = is_empty ? 0 : u32(cos[1]),
      .table_rows = is_empty || cos[1] == 0 ? 0 : u32(cos[0]),
  };
}

TensorDesc rotated_by(const TensorDesc& query, int64_t heads) {
  return {query.dtype, {query.shape[0], query.shape[1], heads, query.shape[3]}};
}

// What rotary_cache_write and rotary_cache_write_paged share.
fields::RotaryPairs pairs_of(const auto& inputs, const auto& attributes, int64_t heads, const CacheRows& cache) {
  const int64_t batches = inputs.query->shape[0], rows = inputs.query->shape[1], width = inputs.query->shape[3];
  const int64_t half_width = (width + 1) / 2;
  const int64_t visited = inputs.key_cache->shape[1] * (attributes.only_new ? batches * rows : cache.stored);
  const bool has_queries = element_count(rotated_by(inputs.query, heads).shape) > 0, has_keys = visited * width > 0;
  const int64_t query_pairs = has_queries ? batches * rows * heads * half_width : 0;
  const int64_t key_pairs = has_keys ? visited * half_width : 0;
  return {
      .query_pairs = u32(query_pairs),
      .key_pairs = u32(key_pairs),
      .items = u32(std::max(query_pairs + 2 * key_pairs, batches)),
      .is_packed = inputs.key ? 0u : 1u,
      .interleaved = attributes.interleaved ? 1u : 0u,
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

bool is_empty(const fields::RotaryPairs& pairs) { return pairs.query_pairs == 0 && pairs.key_pairs == 0; }

template <typename Fields>
Call pairs_call(const Fields& fields, const auto& inputs, int64_t heads) {
  const TensorDesc cache{inputs.key_cache->dtype, inputs.key_cache->shape};
  return make_call(fields, inputs,
                   {.rotated = rotated_by(inputs.query, heads),
                    .keys = cache,
                    .values = cache,
                    .lengths = TensorDesc{DType::i32, {inputs.query->shape[0]}}});
}

// What the operators of int8 caches share.
fields::RotaryLines lines_of(const auto& inputs, const auto& attributes, int64_t heads, const CacheRows& cache) {
  const int64_t batches = inputs.query->shape[0], rows = inputs.query->shape[1];
  const bool has_queries = element_count(rotated_by(inputs.query, heads).shape) > 0;
  return {
      .query_lines = u32(has_queries ? batches * rows * heads : 0),
      .lines = u32(inputs.key_cache->shape[1] * (attributes.only_new ? batches * rows : cache.stored)),
      .is_packed = inputs.key ? 0u : 1u,
      .interleaved = attributes.interleaved ? 1u : 0u,
      .only_new = attributes.only_new ? 1u : 0u,
  };
}

bool is_empty(const fields::RotaryLines& lines) { return lines.query_lines == 0 && lines.lines == 0; }

template <typename Fields>
Call lines_call(const Fields& fields, const auto& inputs, int64_t heads) {
  const TensorDesc cache{DType::i8, inputs.key_cache->shape};
  return make_call(fields, inputs,
                   {.rotated = rotated_by(inputs.query, heads),
                    .keys = cache,
                    .values = cache,
                    .scales = TensorDesc{DType::f32, inputs.scale_cache->shape},
                    .lengths = TensorDesc{DType::i32, {inputs.query->shape[0]}}});
}

}  // namespace

Expected<Call> infer(const RotaryCacheWriteInputs<Described>& inputs, const RotaryCacheWriteAttributes& attributes) {
  const CacheRows cache = rows_in(inputs.key_cache);
  const auto heads = checked(inputs, cache);
  if (!heads) return heads.error();
  const auto pairs = pairs_of(inputs, attributes, *heads, cache);
  const rotary_cache_write::Problem fields{.rotary_cache = sizes_of(inputs, *heads, cache, is_empty(pairs)),
                                           .rotary_pairs = pairs};
  return pairs_call(fields, inputs, *heads);
}

Expected<Call> infer(const RotaryCacheWritePagedInputs<Described>& inputs,
                     const RotaryCacheWritePagedAttributes& attributes) {
  const auto cache = blocks_in(inputs.key_cache, inputs.blocks);
  if (!cache) return cache.error();
  const auto heads = checked(inputs, *cache);
  if (!heads) return heads.error();
  const auto pairs = pairs_of(inputs, attributes, *heads, *cache);
  const rotary_cache_write_paged::Problem fields{.rotary_cache = sizes_of(inputs, *heads, *cache, is_empty(pairs)),
                                                 .rotary_pairs = pairs,
                                                 .block_table = cache->table};
  return pairs_call(fields, inputs, *heads);
}

Expected<Call> infer(const RotaryCacheWriteQ8rsInputs<Described>& inputs,
                     const RotaryCacheWriteQ8rsAttributes& attributes) {
  const CacheRows cache = rows_in(inputs.key_cache);
  const auto heads = checked(inputs, cache);
  if (!heads) return heads.error();
  const auto lines = lines_of(inputs, attributes, *heads, cache);
  const rotary_cache_write_q8rs::Problem fields{.rotary_cache = sizes_of(inputs, *heads, cache, is_empty(lines)),
                                                .rotary_lines = lines};
  return lines_call(fields, inputs, *heads);
}

Expected<Call> infer(const RotaryCacheWritePagedQ8rsInputs<Described>& inputs,
                     const RotaryCacheWritePagedQ8rsAttributes& attributes) {
  const auto cache = blocks_in(inputs.key_cache, inputs.blocks);
  if (!cache) return cache.error();
  const auto heads = checked(inputs, *cache);
  if (!heads) return heads.error();
  const auto lines = lines_of(inputs, attributes, *heads, *cache);
  const rotary_cache_write_paged_q8rs::Problem fields{.rotary_cache = sizes_of(inputs, *heads, *cache, is_empty(lines)),
                                                      .rotary_lines = lines,
                                                      .block_table = cache->table};
  return lines_call(fields, inputs, *heads);
}

// ---- attention ------------------------------------------------------------------------------------------------------

namespace {

// A tensor of rows of heads: [B, S, N, D], or with the heads first [B, N, S, D].
struct Heads {
  int64_t batches, rows, heads, width;
  std::array<uint32_t, 3> strides;  // of a batch, a head and a row

  Heads(const Shape& shape, bool is_heads_first)
      : batches(shape[0]), rows(shape[is_heads_first ? 2 : 1]), heads(shape[is_heads_first ? 1 : 2]), width(shape[3]) {
    strides = {u32(rows * heads * width), u32(is_heads_first ? rows * width : width),
               u32(is_heads_first ? width : heads * width)};
  }
};

// Strides of the mask for [B, N, S, T]; 0 where it is repeated.
Expected<std::array<uint32_t, 4>> mask_strides_of(const Shape& mask, const Shape& scores) {
  std::array<uint32_t, 4> strides = {};
  bool fits = mask.size() <= scores.size();
  int64_t stride = 1;
  for (size_t d = 1; fits && d <= mask.size(); ++d) {
    const int64_t side = mask[mask.size() - d], whole = scores[scores.size() - d];
    fits = side == 1 || side == whole;
    if (side == whole) strides[scores.size() - d] = u32(stride);
    stride *= side;
  }
  if (fits) return strides;
  return refused(fmt::format("mask is {}, and the scores are {}", to_text(mask), to_text(scores)),
                 "each dimension of the mask must be 1 or equal the scores' dimension");
}

struct LayerAndOutput {
  fields::AttentionLayer layer;
  TensorDesc output;
};

// Of attention, whatever the dtype of its keys and values. `keys_in_blocks`: of a batch, if they are in blocks.
Expected<LayerAndOutput> layer_of(const auto& inputs, const auto& attributes,
                                  std::optional<int64_t> keys_in_blocks = std::nullopt) {
  const TensorDesc &query = inputs.query, &key = inputs.key, &value = inputs.value;
  if (Done same = check_same_dtype("mask", inputs.mask, "query", query); !same) return same.error();
  const Heads of_query(query.shape, attributes.heads_first);
  const Heads of_key(key.shape, attributes.keys_heads_first), of_value(value.shape, attributes.keys_heads_first);
  const int64_t keys = keys_in_blocks.value_or(of_key.rows);
  if (of_key.heads == 0 ? of_query.heads != 0 : of_query.heads % of_key.heads != 0)
    return refused(fmt::format("query has {} heads, and key has {}", of_query.heads, of_key.heads),
                   "each head of keys belongs to the same number of heads of queries");
  if (attributes.window != 0 && attributes.causal == words::Causal::none)
    return refused(fmt::format("window is {}, and causal is none", attributes.window),
                   "a window ends at the last key that causal allows");
  constexpr int64_t kMostWidth = 1024;
  if (of_query.width > kMostWidth || of_value.width > kMostWidth)
    return refused(
        fmt::format("heads have {} and {} elements, and can have {}", of_query.width, of_value.width, kMostWidth));
  std::array<uint32_t, 4> mask_strides = {};
  if (inputs.mask) {
    const auto strides = mask_strides_of(inputs.mask->shape, {of_query.batches, of_query.heads, of_query.rows, keys});
    if (!strides) return strides.error();
    mask_strides = *strides;
  }
  Shape shape = query.shape;
  shape.back() = of_value.width;
  const TensorDesc output{query.dtype, shape};
  if (Done size = check_size("output", output); !size) return size.error();
  const Heads of_output(shape, attributes.heads_first);
  const bool is_empty = element_count(shape) == 0;  // a side may be past 32 bits
  const int64_t group = is_empty ? 1 : of_query.heads / of_key.heads;
  const double root = 1 / std::sqrt(static_cast<double>(of_query.width));
  // A window of all keys is none. So kernels can subtract it from a position, which may be below 0.
  const bool has_window = attributes.window < std::max(of_query.rows, keys);
  const fields::AttentionLayer layer{
      .batches = is_empty ? 0 : u32(of_query.batches),
      .key_heads = is_empty ? 0 : u32(of_key.heads),
      .group = u32(group),
      .rows = is_empty ? 0 : u32(group * of_query.rows),
      .queries = is_empty ? 0 : u32(of_query.rows),
      .keys = is_empty ? 0 : u32(keys),
      .width = u32(of_query.width),
      .value_width = u32(of_value.width),
      .query_strides = of_query.strides,
      .key_strides = of_key.strides,
      .value_strides = of_value.strides,
      .output_strides = of_output.strides,
      .mask_strides = mask_strides,
      .scale = static_cast<float>(attributes.scale.value_or(of_query.width == 0 ? 1.0 : root)),
      .softcap = static_cast<float>(attributes.softcap),
      .window = has_window ? u32(attributes.window) : 0,
      .causal = attributes.causal,
      .has_softcap = attributes.softcap > 0 ? 1u : 0u,
      .has_mask = inputs.mask ? 1u : 0u,
      .has_lengths = inputs.key_lengths ? 1u : 0u,
  };
  return LayerAndOutput{layer, output};
}

// The blocks of keys and values.
Expected<CacheBlocks> key_blocks(const auto& inputs, const auto& attributes) {
  return blocks_in(inputs.key, inputs.blocks, attributes.keys_heads_first ? 2 : 1);
}

Done check_keys(const auto& inputs) {
  return check_same_dtypes({{"key", inputs.key}, {"value", inputs.value}}, "query", inputs.query);
}

}  // namespace

Expected<Call> infer(const AttentionInputs<Described>& inputs, const AttentionAttributes& attributes) {
  if (Done same = check_keys(inputs); !same) return same.error();
  const auto of = layer_of(inputs, attributes);
  if (!of) return of.error();
  return make_call(attention::Problem{.attention_layer = of->layer}, inputs, {.output = of->output});
}

Expected<Call> infer(const AttentionPagedInputs<Described>& inputs, const AttentionPagedAttributes& attributes) {
  if (Done same = check_keys(inputs); !same) return same.error();
  const auto cache = key_blocks(inputs, attributes);
  if (!cache) return cache.error();
  const auto of = layer_of(inputs, attributes, cache->capacity);
  if (!of) return of.error();
  const attention_paged::Problem fields{.attention_layer = of->layer, .block_table = cache->table};
  return make_call(fields, inputs, {.output = of->output});
}

Expected<Call> infer(const AttentionQ8rsInputs<Described>& inputs, const AttentionQ8rsAttributes& attributes) {
  const auto of = layer_of(inputs, attributes);
  if (!of) return of.error();
  return make_call(attention_q8rs::Problem{.attention_layer = of->layer}, inputs, {.output = of->output});
}

Expected<Call> infer(const AttentionPagedQ8rsInputs<Described>& inputs,
                     const AttentionPagedQ8rsAttributes& attributes) {
  const auto cache = key_blocks(inputs, attributes);
  if (!cache) return cache.error();
  const auto of = layer_of(inputs, attributes, cache->capacity);
  if (!of) return of.error();
  const attention_paged_q8rs::Problem fields{.attention_layer = of->layer, .block_table = cache->table};
  return make_call(fields, inputs, {.output = of->output});
}

}  // namespace qgen::generated::operators
