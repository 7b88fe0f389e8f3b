// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention and rotary embeddings on every kernel, within the bounds of docs/attention_bound.md.

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "operators.h"
#include "tests/kernels/in_place.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using testing::Random;
using testing::tensor_of;

class AttentionTest : public testing::KernelTest {};

// ---- rotary_embedding -----------------------------------------------------------------------------------------------

struct Rotation {
  Shape shape;       // of the input
  int64_t angles;    // of each row
  int64_t rows = 0;  // of the table; 0: a row for each row of the input
  std::vector<double> positions = {};
  Shape of_positions = {};
  bool from_last = false;
};

TEST_F(AttentionTest, RotaryEmbedding) {
  const Rotation rotations[] = {
      {{1, 1, 1, 2}, 1},
      {{2, 3, 5, 8}, 4},                                              // a row of cos for each
      {{2, 3, 5, 8}, 4, 16},                                          // from 0 in each batch
      {{2, 3, 5, 8}, 4, 16, {7}, {1}},                                // from 7
      {{1, 3, 2, 7}, 2, 16, {7, 3, 0}, {1, 3}},                       // partial, and a last element alone
      {{2, 2, 2, 6}, 3, 4, {3, 4, -1, 0}, {2, 2}},                    // outside of the table
      {{2, 2, 2, 6}, 3, 4, {2147483647, -2147483648, 0, 1}, {2, 2}},  // the same, far
      {{3, 4, 2, 6}, 3, 9, {3, 8, 1}, {3}, true},          // up to 3 and 8; the last one is padded, and begins at 0
      {{2, 4, 2, 6}, 3, 9, {10, -2147483648}, {2}, true},  // outside of the table, and from 0
      {{1, 1, 2, 6}, 3, 9, {8}, {1}, true},
      {{1, 3, 2, 5}, 0, 4},  // nothing is rotated
      {{2, 65, 3, 128}, 64, 70},
      {{1, 2, 129, 64}, 16, 0},
      {{0, 3, 2, 8}, 4, 16},
      {{2, 0, 2, 8}, 4, 16},
      {{2, 3, 0, 8}, 4, 16},
      {{2, 3, 2, 0}, 0, 16},
  };
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Rotation& it : rotations) {
      for (const bool heads_first : {false, true}) {
        for (const bool interleaved : {false, true}) {
          Shape shape = it.shape;
          if (heads_first) std::swap(shape[1], shape[2]);
          SCOPED_TRACE(fmt::format("{} {} {} {}", name(dtype), to_text(shape), heads_first, interleaved));
          const Shape table = it.rows > 0 ? Shape{it.rows, it.angles} : Shape{it.shape[0], it.shape[1], it.angles};
          Request request{
              .inputs = {{"input", Random(1).reals(dtype, shape, -3, 3)},
                         {"cos", Random(2).reals(dtype, table, -1, 1)},
                         {"sin", Random(3).reals(dtype, table, -1, 1)}},
              .attributes = {{"heads_first", heads_first}, {"interleaved", interleaved}, {"from_last", it.from_last}}};
          if (!it.positions.empty()) {
            HostTensor positions = zeros(DType::i32, it.of_positions);
            for (size_t i = 0; i < it.positions.size(); ++i)
              set_element(positions, static_cast<int64_t>(i), it.positions[i]);
            request.inputs["positions"] = positions;
          }
          expect_reference("rotary_embedding", request, kEverythingAsAsked);
        }
      }
    }
  }
}

// Elements that are not rotated are copied.
TEST_F(AttentionTest, RotaryEmbeddingOfSpecialValues) {
  const HostTensor input = tensor_of(DType::f32, {1, 1, 3, 4},
                                     {kInfinity, 1, 2, kNan, 1e-40, -1e-40, kNan, -kInfinity, 3e38, 3e38, 1e-45, -0.0});
  const HostTensor cos = tensor_of(DType::f32, {1, 1, 1}, {1}), sin = tensor_of(DType::f32, {1, 1, 1}, {0.5});
  for (const bool interleaved : {false, true})
    expect_reference(
        "rotary_embedding",
        {.inputs = {{"input", input}, {"cos", cos}, {"sin", sin}}, .attributes = {{"interleaved", interleaved}}},
        kEverythingAsAsked);
}

// ---- rotary_cache_write ---------------------------------------------------------------------------------------------

struct CachedRows {
  int64_t batches, heads, key_heads, capacity, rows, width, angles, table;
  std::vector<int32_t> last;
};

const CachedRows kCachedRows[] = {
    {1, 1, 1, 1, 1, 2, 1, 1, {0}},
    {1, 4, 2, 5, 1, 8, 4, 9, {3}},
    {2, 3, 1, 7, 1, 5, 2, 9, {0, 6}},                        // odd sides: neighbours share a word
    {3, 4, 2, 9, 4, 16, 8, 9, {3, 8, 1}},                    // from 0, up to the end, and a padded prompt
    {2, 2, 2, 6, 6, 8, 2, 6, {5, 2}},                        // the whole cache, partial
    {3, 2, 1, 4, 2, 4, 2, 3, {4, 2147483647, -2147483648}},  // half outside, outside, and from 0; outside of the table
    {2, 2, 1, 4, 0, 4, 2, 4, {2, 3}},                        // no rows
    {0, 2, 1, 4, 1, 4, 2, 4, {}},
    {2, 2, 0, 4, 1, 4, 2, 4, {1, 2}},  // no keys
    {2, 0, 2, 4, 1, 4, 2, 4, {1, 2}},  // no queries
    {2, 2, 1, 4, 1, 0, 0, 4, {1, 2}},
    {1, 4, 1, 130, 67, 64, 32, 200, {120}},
    {1, 2, 2, 6, 3, 6, 0, 6, {4}},  // nothing is rotated
};

Request request_of(const CachedRows& it, DType dtype, bool is_packed, bool is_interleaved) {
  const int64_t heads = it.heads + (is_packed ? 2 * it.key_heads : 0);
  const Shape cache{it.batches, it.key_heads, it.capacity, it.width}, rows{it.batches, it.rows, it.key_heads, it.width};
  Request request{.inputs = {{"query", Random(1).reals(dtype, {it.batches, it.rows, heads, it.width}, -3, 3)},
                             {"key_cache", Random(2).reals(dtype, cache, -9, 9)},
                             {"value_cache", Random(3).reals(dtype, cache, -9, 9)},
                             {"cos", Random(4).reals(dtype, {it.table, it.angles}, -1, 1)},
                             {"sin", Random(5).reals(dtype, {it.table, it.angles}, -1, 1)},
                             {"last", make_tensor<int32_t>(DType::i32, {it.batches}, it.last)}},
                  .attributes = {{"interleaved", is_interleaved}}};
  if (is_packed) return request;
  request.inputs["key"] = Random(6).reals(dtype, rows, -3, 3);
  request.inputs["value"] = Random(7).reals(dtype, rows, -9, 9);
  return request;
}

TEST_F(AttentionTest, RotaryCacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CachedRows& it : kCachedRows) {
      for (const bool is_packed : {false, true}) {
        for (const bool is_interleaved : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {} rows of {} and {} heads, {} wide{}{}", name(dtype), it.rows, it.heads,
                                   it.key_heads, it.width, is_packed ? ", packed" : "",
                                   is_interleaved ? ", interleaved" : ""));
          expect_reference("rotary_cache_write", request_of(it, dtype, is_packed, is_interleaved), kEverythingAsAsked);
        }
      }
    }
  }
}

// With int8 caches.
Request with_int8_rows(Request request) {
  for (const char* cache : {"key_cache", "value_cache"}) {
    HostTensor& tensor = request.inputs.at(cache);
    tensor = Random(8).integers(DType::i8, tensor.shape, -127, 127);
  }
  Shape scales = request.inputs.at("key_cache").shape;
  scales.back() = 2;
  request.inputs["scale_cache"] = Random(9).reals(DType::f32, scales, 0, 2);
  return request;
}

TEST_F(AttentionTest, RotaryInt8CacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CachedRows& it : kCachedRows) {
      for (const bool is_packed : {false, true}) {
        for (const bool is_interleaved : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {} rows of {} and {} heads, {} wide{}{}", name(dtype), it.rows, it.heads,
                                   it.key_heads, it.width, is_packed ? ", packed" : "",
                                   is_interleaved ? ", interleaved" : ""));
          expect_reference("rotary_cache_write_q8rs", with_int8_rows(request_of(it, dtype, is_packed, is_interleaved)),
                           kEverythingAsAsked);
        }
      }
    }
  }
}

// Blocks with room for `capacity` keys of each batch, and their table. Block 0 belongs to nobody.
struct BlocksOf {
  int64_t size = 1, per_row = 1, count = 1;
  HostTensor table;
};
BlocksOf blocks_of(int64_t batches, int64_t capacity, int64_t size) {
  BlocksOf blocks{size, (capacity + size - 1) / size, 0, {}};
  blocks.count = batches * blocks.per_row + 1;
  // Coprime with the count, so that no block is used twice.
  int64_t step = blocks.count / 2 + 1;
  while (std::gcd(step, blocks.count) != 1) ++step;
  blocks.table = zeros(DType::i32, {batches, blocks.per_row});
  for (int64_t i = 0; i + 1 < blocks.count; ++i)
    set_element(blocks.table, i, static_cast<double>((i + 1) * step % blocks.count));
  return blocks;
}

// With caches in blocks.
Request with_blocks(Request request, DType dtype, int64_t size) {
  const Shape cache = request.inputs.at("key_cache").shape;
  const BlocksOf blocks = blocks_of(cache[0], cache[2], size);
  for (const auto& [name, seed] : {std::pair{"key_cache", 2}, {"value_cache", 3}})
    request.inputs[name] = Random(seed).reals(dtype, {blocks.count, cache[1], size, cache[3]}, -9, 9);
  request.inputs["blocks"] = blocks.table;
  return request;
}

TEST_F(AttentionTest, RotaryPagedCacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CachedRows& it : kCachedRows) {
      for (const int64_t size : {1, 2, 16}) {
        for (const bool is_packed : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {} rows of {} and {} heads, {} wide, blocks of {}{}", name(dtype), it.rows,
                                   it.heads, it.key_heads, it.width, size, is_packed ? ", packed" : ""));
          const Request request = with_blocks(request_of(it, dtype, is_packed, is_packed), dtype, size);
          expect_reference("rotary_cache_write_paged", request, kEverythingAsAsked);
          expect_reference("rotary_cache_write_paged_q8rs", with_int8_rows(request), kEverythingAsAsked);
        }
      }
    }
  }
}

// With only_new, in the memory of the caches: bit for bit what whole caches give, and other rows are not touched.
TEST_F(AttentionTest, RotaryCacheWriteInPlace) {
  const testing::OperandPairs pairs{{"keys", "key_cache"}, {"values", "value_cache"}};
  testing::OperandPairs with_scales = pairs;
  with_scales["scales"] = "scale_cache";
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CachedRows& it : kCachedRows) {
      for (const bool is_packed : {false, true}) {
        const Request request = request_of(it, dtype, is_packed, false);
        SCOPED_TRACE(fmt::format("{} {} rows of {} and {} heads, {} wide{}", name(dtype), it.rows, it.heads,
                                 it.key_heads, it.width, is_packed ? ", packed" : ""));
        testing::expect_in_place(context(), "rotary_cache_write", request, pairs);
        testing::expect_in_place(context(), "rotary_cache_write_q8rs", with_int8_rows(request), with_scales);
        const Request paged = with_blocks(request, dtype, 4);
        testing::expect_in_place(context(), "rotary_cache_write_paged", paged, pairs);
        testing::expect_in_place(context(), "rotary_cache_write_paged_q8rs", with_int8_rows(paged), with_scales);
      }
    }
  }
}

std::string said(const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); }

// Four angles for each of nine positions, for heads of eight elements; and new rows of two batches.
const TensorDesc kRotaryTable{DType::f32, {9, 4}};
const TensorDesc kNewRows{DType::f32, {2, 1, 3, 8}};
// Two blocks of four keys for each batch.
const TensorDesc kTwoBlocks{DType::i32, {2, 2}};
const TensorDesc kLastRows{DType::i32, {2}};

TEST(RotaryCacheCalls, SayWhatTheyCannotWrite) {
  using namespace generated::operators;
  const TensorDesc cache{DType::f32, {2, 3, 4, 8}};
  const auto with = [&](const TensorDesc& query, const std::optional<TensorDesc>& key,
                        const std::optional<TensorDesc>& value, const TensorDesc& cos) {
    return said(rotary_cache_write_call({.query = query,
                                         .key = key,
                                         .value = value,
                                         .key_cache = cache,
                                         .value_cache = cache,
                                         .cos = cos,
                                         .sin = cos,
                                         .last = kLastRows}));
  };
  EXPECT_TEXT(with(kNewRows, kNewRows, {}, kRotaryTable),
              "there is a key, and no value\n"
              "  hint: both are separate, or both are in query");
  EXPECT_TEXT(with({DType::f32, {2, 1, 5, 8}}, {}, {}, kRotaryTable),
              "query has 5 heads, and the cache has 3 heads of keys\n"
              "  hint: without key and value, query has the heads of queries, keys and values");
  EXPECT_TEXT(with(kNewRows, kNewRows, kNewRows, {DType::f32, {9, 5}}),
              "cos has 5 angles, and a head has 8 elements\n"
              "  hint: an angle rotates two elements");
  EXPECT_TEXT(with(kNewRows, kNewRows, kNewRows, {DType::f16, {9, 4}}),
              "cos is f16, and query is f32\n"
              "  hint: both must have the same dtype");
  const TensorDesc many{DType::f32, {2, 5, 3, 8}};
  EXPECT_TEXT(with(many, many, many, kRotaryTable), "there are 5 new rows, and the cache has room for 4");
}

TEST(RotaryCacheCalls, SayWhatTheyCannotWriteInBlocks) {
  using namespace generated::operators;
  const auto paged = [&](const TensorDesc& query, const TensorDesc& caches, const TensorDesc& blocks) {
    return said(rotary_cache_write_paged_call({.query = query,
                                               .key = query,
                                               .value = query,
                                               .key_cache = caches,
                                               .value_cache = caches,
                                               .cos = kRotaryTable,
                                               .sin = kRotaryTable,
                                               .blocks = blocks,
                                               .last = kLastRows}));
  };
  const TensorDesc in_blocks{DType::f32, {9, 3, 4, 8}};
  EXPECT_TEXT(paged({DType::f32, {2, 8, 3, 8}}, in_blocks, kTwoBlocks), "accepted");
  EXPECT_TEXT(paged({DType::f32, {2, 9, 3, 8}}, in_blocks, kTwoBlocks),
              "there are 9 new rows, and the cache has room for 8");
  EXPECT_TEXT(paged(kNewRows, {DType::f32, {9, 3, 6, 8}}, kTwoBlocks),
              "a block has room for 6 keys\n"
              "  hint: it must be a power of two");
  EXPECT_TEXT(paged(kNewRows, {DType::f32, {0, 3, 4, 8}}, kTwoBlocks),
              "there are 1 new rows, and the cache has room for 0");
}

TEST(RotaryCacheCalls, SayWhatTheyCannotWriteInBlocksOfInt8) {
  using namespace generated::operators;
  const auto paged_int8 = [&](const TensorDesc& query, int64_t size) {
    const TensorDesc caches{DType::i8, {9, 3, size, 8}};
    return said(rotary_cache_write_paged_q8rs_call({.query = query,
                                                    .key = query,
                                                    .value = query,
                                                    .key_cache = caches,
                                                    .value_cache = caches,
                                                    .scale_cache = TensorDesc{DType::f32, {9, 3, size, 2}},
                                                    .cos = kRotaryTable,
                                                    .sin = kRotaryTable,
                                                    .blocks = kTwoBlocks,
                                                    .last = kLastRows}));
  };
  EXPECT_TEXT(paged_int8({DType::f32, {2, 8, 3, 8}}, 4), "accepted");
  EXPECT_TEXT(paged_int8({DType::f32, {2, 9, 3, 8}}, 4), "there are 9 new rows, and the cache has room for 8");
  EXPECT_TEXT(paged_int8(kNewRows, 6),
              "a block has room for 6 keys\n"
              "  hint: it must be a power of two");
}

// ---- attention ------------------------------------------------------------------------------------------------------

struct Layer {
  int64_t batches = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, width = 32, value_width = 0;
  std::string causal = "none";
  int64_t window = 0;
  double softcap = 0;
  Shape mask = {};
  std::vector<double> lengths = {};
  bool heads_first = false, keys_heads_first = false;
};

// More keys than 64 slices of 128. Lengths are at the ends of slices, and beside them.
const Layer kManySlices{.batches = 8,
                        .heads = 2,
                        .key_heads = 1,
                        .queries = 1,
                        .keys = 9000,
                        .causal = "to_last",
                        .lengths = {0, 1, 128, 129, 8191, 8192, 8193, 9000}};
// The slices begin behind the first key.
const Layer kSlicesOfWindow{.batches = 3,
                            .heads = 2,
                            .key_heads = 1,
                            .queries = 3,
                            .keys = 2000,
                            .causal = "to_last",
                            .window = 600,
                            .lengths = {2000, 601, 1}};
// The first rows end before the first key, and a window counts back from there.
const Layer kLargestWindow{.batches = 4,
                           .heads = 5,
                           .key_heads = 1,
                           .queries = 17,
                           .keys = 128,
                           .width = 64,
                           .causal = "to_last",
                           .window = std::numeric_limits<int32_t>::max(),
                           .lengths = {0, 4, 7, 128}};

std::string text_of(const Layer& it) {
  return fmt::format("{} batches, {} and {} heads, {} x {}, {} and {} wide, {}, window {}, softcap {}, mask {}",
                     it.batches, it.heads, it.key_heads, it.queries, it.keys, it.width, it.value_width, it.causal,
                     it.window, it.softcap, to_text(it.mask));
}

Shape heads_of(const Layer& it, int64_t rows, int64_t heads, int64_t width, bool is_heads_first) {
  return is_heads_first ? Shape{it.batches, heads, rows, width} : Shape{it.batches, rows, heads, width};
}

Request request_of(const Layer& it, DType dtype) {
  const int64_t value_width = it.value_width > 0 ? it.value_width : it.width;
  const Shape query = heads_of(it, it.queries, it.heads, it.width, it.heads_first);
  const Shape key = heads_of(it, it.keys, it.key_heads, it.width, it.keys_heads_first);
  const Shape value = heads_of(it, it.keys, it.key_heads, value_width, it.keys_heads_first);
  Request request{.inputs = {{"query", Random(1).reals(dtype, query, -2, 2)},
                             {"key", Random(2).reals(dtype, key, -2, 2)},
                             {"value", Random(3).reals(dtype, value, -2, 2)}},
                  .attributes = {{"causal", it.causal},
                                 {"window", it.window},
                                 {"softcap", it.softcap},
                                 {"heads_first", it.heads_first},
                                 {"keys_heads_first", it.keys_heads_first}}};
  if (!it.mask.empty()) request.inputs["mask"] = Random(4).reals(dtype, it.mask, -3, 3);
  if (!it.lengths.empty()) {
    HostTensor lengths = zeros(DType::i32, {std::ssize(it.lengths)});
    for (size_t i = 0; i < it.lengths.size(); ++i) set_element(lengths, static_cast<int64_t>(i), it.lengths[i]);
    request.inputs["key_lengths"] = lengths;
  }
  return request;
}

TEST_F(AttentionTest, OfEveryShape) {
  const Layer layers[] = {
      {},
      {.width = 1},
      {.queries = 3, .keys = 7, .width = 5, .value_width = 3},
      {.heads = 4, .queries = 1, .keys = 129, .width = 64},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32},
      {.batches = 2, .heads = 6, .key_heads = 1, .queries = 5, .keys = 64, .width = 96, .value_width = 40},
      {.heads = 2, .key_heads = 2, .queries = 17, .keys = 130, .width = 128},
      {.heads = 2, .key_heads = 1, .queries = 3, .keys = 300, .width = 256},
      {.queries = 2, .keys = 5, .width = 300, .value_width = 1000},
      {.queries = 2, .keys = 5, .width = 64, .value_width = 256},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32, .heads_first = true},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32, .keys_heads_first = true},
      {.heads = 2, .queries = 33, .keys = 33, .width = 33, .heads_first = true, .keys_heads_first = true},
  };
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : layers) {
      if (!has_turn(i++, 4)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), text_of(layer)));
      expect_reference("attention", request_of(layer, dtype), kEverythingAsAsked);
    }
  }
}

TEST_F(AttentionTest, OfSomeOfTheKeys) {
  const Layer layers[] = {
      {.heads = 4, .key_heads = 2, .queries = 9, .keys = 9, .causal = "from_first"},
      {.heads = 4, .key_heads = 2, .queries = 9, .keys = 4, .causal = "from_first"},
      {.heads = 4, .key_heads = 2, .queries = 9, .keys = 140, .causal = "to_last"},
      {.heads = 3, .key_heads = 3, .queries = 9, .keys = 4, .causal = "to_last"},  // the first rows have none
      {.heads = 2, .queries = 70, .keys = 70, .causal = "to_last", .window = 1},
      {.heads = 2, .queries = 70, .keys = 200, .width = 64, .causal = "to_last", .window = 67},
      {.heads = 2, .queries = 20, .keys = 200, .causal = "from_first", .window = 5},
      {.batches = 3, .heads = 4, .key_heads = 2, .queries = 3, .keys = 140, .lengths = {140, 1, 70}},
      {.batches = 3,
       .heads = 4,
       .key_heads = 2,
       .queries = 3,
       .keys = 140,
       .causal = "to_last",
       .lengths = {139, 3, 64}},
      {.batches = 4, .queries = 5, .keys = 10, .causal = "to_last", .lengths = {0, 3, -7, 1000}},
      // Lengths of 0, 1, the capacity and one more.
      {.batches = 4, .heads = 2, .queries = 5, .keys = 10, .causal = "to_last", .lengths = {0, 1, 10, 11}},
      {.batches = 4, .heads = 2, .queries = 1, .keys = 512, .width = 64, .lengths = {-7, 1, 512, 513}},
      {.batches = 2, .queries = 5, .keys = 10, .lengths = {0, 10}},
      {.batches = 2, .queries = 5, .keys = 100, .causal = "to_last", .window = 7, .lengths = {90, 4}},
      kLargestWindow,
      {.heads = 2, .queries = 9, .keys = 20, .width = 64, .causal = "from_first", .window = 19},
      {.heads = 4, .queries = 2, .keys = 1100, .width = 64},  // slices of 512
      kManySlices,
      kSlicesOfWindow,
      {.batches = 3,
       .heads = 8,
       .key_heads = 2,
       .queries = 5,
       .keys = 1100,
       .width = 64,
       .causal = "to_last",
       .window = 600,
       .lengths = {1100, 530, 0}},
  };
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : layers) {
      if (!has_turn(i++, 2)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), text_of(layer)));
      expect_reference("attention", request_of(layer, dtype), kEverythingAsAsked);
    }
  }
}

TEST_F(AttentionTest, WithMasksAndSoftcaps) {
  const Layer layers[] = {
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {9, 70}},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {2, 1, 1, 70}},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {1, 4, 9, 70}},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {2, 4, 9, 70}},
      {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {1}},
      {.queries = 9, .keys = 70, .softcap = 2},
      {.queries = 9, .keys = 70, .softcap = 1e-3},
      {.queries = 9, .keys = 70, .width = 64, .softcap = 50},
      {.heads = 2, .queries = 9, .keys = 70, .causal = "to_last", .window = 20, .softcap = 5, .mask = {9, 70}},
  };
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : layers) {
      if (!has_turn(i++, 2)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), text_of(layer)));
      expect_reference("attention", request_of(layer, dtype), kEverythingAsAsked);
    }
  }
}

TEST_F(AttentionTest, OfNothing) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    SCOPED_TRACE(name(dtype));
    for (const Layer& layer :
         {Layer{.batches = 0}, {.heads = 0, .key_heads = 0}, {.heads = 0}, {.queries = 0}, {.keys = 0}})
      expect_reference("attention", request_of(layer, dtype), kEverythingAsAsked);
    // Without elements, all scores are 0, and a row is the mean of the values.
    Request request = request_of({.queries = 3, .keys = 9}, dtype);
    request.inputs["query"] = zeros(dtype, {1, 3, 1, 0});
    request.inputs["key"] = zeros(dtype, {1, 9, 1, 0});
    expect_reference("attention", request, kEverythingAsAsked);
  }
}

// The memory after the keys of a batch may have any content.
TEST_F(AttentionTest, KeysBehindTheLastAreNotRead) {
  Request request = request_of({.batches = 2, .heads = 2, .queries = 3, .keys = 150, .lengths = {100, 7}}, DType::f32);
  for (const char* operand : {"key", "value"}) {
    HostTensor& tensor = request.inputs[operand];
    for (const auto& [batch, length] : {std::pair{0, 100}, {1, 7}}) {
      for (int64_t i = int64_t{length} * 32; i < 150 * 32; ++i) set_element(tensor, batch * 150 * 32 + i, kNan);
    }
  }
  expect_reference("attention", request, kEverythingAsAsked);
}

// ---- attention_paged ------------------------------------------------------------------------------------------------

// The same with keys, values and scales in blocks of `size`. Memory without keys is NaN; of integers, -128.
Request in_blocks(Request request, const Layer& it, int64_t size) {
  const BlocksOf blocks = blocks_of(it.batches, it.keys, size);
  request.inputs["blocks"] = blocks.table;
  for (const char* operand : {"key", "value", "scales"}) {
    if (!request.inputs.contains(operand)) continue;
    const HostTensor whole = request.inputs.at(operand);
    const int64_t width = whole.shape[3];
    const Shape shape = it.keys_heads_first ? Shape{blocks.count, it.key_heads, size, width}
                                            : Shape{blocks.count, size, it.key_heads, width};
    HostTensor paged = zeros(whole.dtype, shape);
    for (int64_t i = 0; i < element_count(shape); ++i) set_element(paged, i, whole.dtype == DType::i8 ? -128 : kNan);
    for (int64_t i = 0; i < element_count(whole.shape); ++i) {
      const int64_t batch = i / width / it.key_heads / it.keys, line = i / width % (it.key_heads * it.keys);
      const int64_t head = it.keys_heads_first ? line / it.keys : line % it.key_heads;
      const int64_t key = it.keys_heads_first ? line % it.keys : line / it.key_heads;
      const auto block = static_cast<int64_t>(element(blocks.table, batch * blocks.per_row + key / size));
      const int64_t to = it.keys_heads_first ? (block * it.key_heads + head) * size + key % size
                                             : (block * size + key % size) * it.key_heads + head;
      set_element(paged, to * width + i % width, element(whole, i));
    }
    request.inputs[operand] = paged;
  }
  if (!request.inputs.contains("key_lengths")) {
    request.inputs["key_lengths"] = zeros(DType::i32, {it.batches});
    for (int64_t batch = 0; batch < it.batches; ++batch)
      set_element(request.inputs["key_lengths"], batch, static_cast<double>(it.keys));
  }
  return request;
}

const Layer kPagedLayers[] = {
    {},
    {.queries = 3, .keys = 7, .width = 5, .value_width = 3},
    {.heads = 4, .queries = 1, .keys = 129, .width = 64},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32},
    {.batches = 2, .heads = 6, .key_heads = 1, .queries = 5, .keys = 64, .width = 96, .value_width = 40},
    {.heads = 2, .key_heads = 1, .queries = 3, .keys = 300, .width = 256},
    {.queries = 2, .keys = 5, .width = 300, .value_width = 1000},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32, .keys_heads_first = true},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 64, .mask = {2, 1, 1, 64}},
    {.heads = 2, .queries = 9, .keys = 64, .causal = "to_last", .window = 20, .softcap = 5, .mask = {9, 64}},
    {.heads = 3, .key_heads = 3, .queries = 9, .keys = 4, .causal = "to_last"},
    kLargestWindow,
    // Lengths of 0, 1, the capacity and one more.
    {.batches = 4, .heads = 2, .queries = 5, .keys = 64, .causal = "to_last", .lengths = {0, 1, 64, 65}},
    {.batches = 4, .heads = 2, .queries = 1, .keys = 512, .width = 64, .lengths = {-7, 1, 512, 513}},
    kManySlices,
    kSlicesOfWindow,
    {.batches = 3,
     .heads = 8,
     .key_heads = 2,
     .queries = 5,
     .keys = 1100,
     .width = 64,
     .causal = "to_last",
     .window = 600,
     .lengths = {1100, 530, 0},
     .keys_heads_first = true},
};

TEST_F(AttentionTest, OfBlocks) {
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : kPagedLayers) {
      for (const int64_t size : {1, 16, 64}) {
        if (!has_turn(i++, 8)) continue;
        SCOPED_TRACE(fmt::format("{} {}, blocks of {}", name(dtype), text_of(layer), size));
        expect_reference("attention_paged", in_blocks(request_of(layer, dtype), layer, size), kEverythingAsAsked);
      }
    }
  }
}

// Whether blocks of `size` have room for exactly the layer's keys, or the layer does not care.
bool can_be_in_blocks(const Layer& layer, int64_t size) {
  return layer.keys % size == 0 || (layer.mask.empty() && layer.lengths.empty());
}

// With int8 keys and values.
Request with_int8_keys(Request request) {
  Shape scales = request.inputs.at("key").shape;
  scales.back() = 2;
  request.inputs["scales"] = Random(5).reals(DType::f32, scales, 0, 0.02);
  for (const char* operand : {"key", "value"}) {
    HostTensor& tensor = request.inputs.at(operand);
    tensor = Random(6).integers(DType::i8, tensor.shape, -127, 127);
  }
  return request;
}

// Blocks of any size give what keys without blocks give.
TEST(PagedAttentionReference, IsThatOfWholeKeys) {
  for (const Layer& layer : kPagedLayers) {
    if (layer.keys > 300) continue;
    for (const bool is_int8 : {false, true}) {
      const std::string of_whole = is_int8 ? "attention_q8rs" : "attention";
      const std::string of_blocks = is_int8 ? "attention_paged_q8rs" : "attention_paged";
      const Request request = request_of(layer, DType::f32), whole = is_int8 ? with_int8_keys(request) : request;
      const HostTensor expected = reference::find(of_whole)(*complete(*find_operator(of_whole), whole)).at("output");
      for (const int64_t size : {1, 2, 16, 256}) {
        if (!can_be_in_blocks(layer, size)) continue;
        const Request paged = in_blocks(whole, layer, size);
        const Tensors given = reference::find(of_blocks)(*complete(*find_operator(of_blocks), paged));
        EXPECT_TRUE(given.at("output").data == expected.data)
            << of_blocks << " " << text_of(layer) << ", blocks of " << size;
      }
    }
  }
}

// Two batches read the same blocks; and entries that are no blocks count as the last one.
TEST_F(AttentionTest, OfSharedAndMissingBlocks) {
  const Layer layer{.batches = 3, .heads = 4, .key_heads = 2, .queries = 3, .keys = 128, .width = 64};
  const std::vector<std::vector<double>> tables = {
      {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 7, 4, 5, 6, 3, 5, 5, 5, 5, 5, 5, 5, 5},
      {0, -1, 2, 24, 4, 25, 6, 2147483647, 0, 1, -2147483648.0, 7, 4, 5, 6, 3, -1, -1, -1, -1, -1, -1, -1, -1},
  };
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const std::vector<double>& table : tables) {
      Request request = in_blocks(request_of(layer, dtype), layer, 16);
      request.inputs["blocks"] = tensor_of(DType::i32, {3, 8}, table);
      for (const char* operand : {"key", "value"})  // without the NaN of the block that nobody has
        request.inputs[operand] = Random(3).reals(dtype, request.inputs.at(operand).shape, -2, 2);
      expect_reference("attention_paged", request, kEverythingAsAsked);
      expect_reference("attention_paged_q8rs", with_int8_keys(request), kEverythingAsAsked);
    }
  }
}

TEST_F(AttentionTest, OfNoBlocks) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    SCOPED_TRACE(name(dtype));
    for (const Layer& layer : {Layer{.batches = 0}, {.heads = 0, .key_heads = 0}, {.heads = 0}, {.queries = 0}}) {
      const Request request = in_blocks(request_of(layer, dtype), layer, 4);
      expect_reference("attention_paged", request, kEverythingAsAsked);
      expect_reference("attention_paged_q8rs", with_int8_keys(request), kEverythingAsAsked);
    }
    // No block, and no entry in the table: rows without keys are zeros.
    for (const auto& [count, per_row] : {std::pair{0, 3}, {2, 0}, {0, 0}}) {
      Request request = in_blocks(request_of({.queries = 2}, dtype), {.queries = 2}, 4);
      for (const char* operand : {"key", "value"}) request.inputs[operand] = zeros(dtype, {count, 4, 1, 32});
      request.inputs["blocks"] = zeros(DType::i32, {1, per_row});
      expect_reference("attention_paged", request, kEverythingAsAsked);
      expect_reference("attention_paged_q8rs", with_int8_keys(request), kEverythingAsAsked);
    }
  }
}

// ---- attention_q8rs -------------------------------------------------------------------------------------------------

const Layer kInt8Layers[] = {
    {},
    {.width = 1},
    {.queries = 3, .keys = 7, .width = 5, .value_width = 3},
    {.heads = 4, .queries = 1, .keys = 129, .width = 64},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32},
    {.batches = 2, .heads = 6, .key_heads = 1, .queries = 5, .keys = 64, .width = 96, .value_width = 48},
    {.heads = 2, .key_heads = 1, .queries = 3, .keys = 300, .width = 256},
    {.queries = 2, .keys = 5, .width = 300, .value_width = 1000},
    {.queries = 2, .keys = 5, .width = 64, .value_width = 256},
    {.queries = 9, .keys = 40, .width = 24, .value_width = 8},
    {.heads = 4, .key_heads = 2, .queries = 9, .keys = 600, .width = 64, .value_width = 48},  // every row uses all keys
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32, .heads_first = true},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 65, .width = 32, .keys_heads_first = true},
    {.batches = 2, .heads = 4, .key_heads = 2, .queries = 9, .keys = 70, .mask = {2, 1, 1, 70}},
    {.heads = 2, .queries = 9, .keys = 70, .causal = "to_last", .window = 20, .softcap = 5, .mask = {9, 70}},
    {.heads = 3, .key_heads = 3, .queries = 9, .keys = 4, .causal = "to_last"},
    {.batches = 4, .queries = 5, .keys = 10, .causal = "to_last", .lengths = {0, 3, -7, 1000}},
    // Lengths of 0, 1, the capacity and one more.
    {.batches = 4, .heads = 2, .queries = 5, .keys = 10, .causal = "to_last", .lengths = {0, 1, 10, 11}},
    {.batches = 4, .heads = 2, .queries = 1, .keys = 512, .width = 64, .lengths = {-7, 1, 512, 513}},
    kManySlices,
    kSlicesOfWindow,
    {.batches = 3,
     .heads = 8,
     .key_heads = 2,
     .queries = 5,
     .keys = 1100,
     .width = 64,
     .causal = "to_last",
     .window = 600,
     .lengths = {1100, 530, 0},
     .keys_heads_first = true},
};

TEST_F(AttentionTest, OfInt8) {
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : kInt8Layers) {
      if (!has_turn(i++, 4)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), text_of(layer)));
      expect_reference("attention_q8rs", with_int8_keys(request_of(layer, dtype)), kEverythingAsAsked);
    }
  }
}

// Every layer of blocks, and every one of int8.
TEST_F(AttentionTest, OfInt8Blocks) {
  std::vector<Layer> layers(std::begin(kPagedLayers), std::end(kPagedLayers));
  layers.insert(layers.end(), std::begin(kInt8Layers), std::end(kInt8Layers));
  size_t i = 0;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer : layers) {
      for (const int64_t size : {1, 16, 64}) {
        if (!can_be_in_blocks(layer, size) || !has_turn(i++, 8)) continue;
        SCOPED_TRACE(fmt::format("{} {}, blocks of {}", name(dtype), text_of(layer), size));
        expect_reference("attention_paged_q8rs", in_blocks(with_int8_keys(request_of(layer, dtype)), layer, size),
                         kEverythingAsAsked);
      }
    }
  }
}

TEST_F(AttentionTest, OfInt8OfNothing) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Layer& layer :
         {Layer{.batches = 0}, {.heads = 0, .key_heads = 0}, {.heads = 0}, {.queries = 0}, {.keys = 0}}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), text_of(layer)));
      expect_reference("attention_q8rs", with_int8_keys(request_of(layer, dtype)), kEverythingAsAsked);
    }
  }
}

// A scale that is not finite counts as NaN: the rows that have the key, or the value, are NaN. Scales from the last key
// on are not read.
TEST_F(AttentionTest, OfInt8WithSpecialScales) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const double special : {0.0, kNan, kInfinity, -kInfinity}) {
      for (const int64_t part : {0, 1}) {
        const Layer layer{.batches = 2, .queries = 3, .keys = 150, .lengths = {100, 7}};
        Request request = with_int8_keys(request_of(layer, dtype));
        HostTensor& scales = request.inputs.at("scales");
        set_element(scales, 2 * 5 + part, special);
        for (int64_t key = 100; key < 150; ++key) set_element(scales, 2 * key + part, kNan);
        for (int64_t key = 157; key < 300; ++key) set_element(scales, 2 * key + part, kNan);
        SCOPED_TRACE(fmt::format("{} {} {}", name(dtype), special, part));
        expect_reference("attention_q8rs", request, kEverythingAsAsked);
        expect_reference("attention_paged_q8rs", in_blocks(request, layer, 16), kEverythingAsAsked);
      }
    }
  }
}

// Scales of values that differ by many powers of two, in one row: growing, falling, alternating; below 0; with large
// ones of little weight, or of keys that the row does not use. Scales of keys below 0, and of any size. Two slices.
TEST_F(AttentionTest, OfInt8WithScalesOfEverySize) {
  constexpr int64_t kKeys = 530, kRows = 5;
  struct Scales {
    const char* name;
    std::function<double(int64_t)> of_key, of_value;
  };
  const auto small = [](int64_t key) { return 0.01 + 1e-4 * static_cast<double>(key % 7); };
  const Scales kinds[] = {
      {"growing", small, [](int64_t key) { return std::exp2(static_cast<double>(key) / 12 - 45); }},
      {"falling", small, [](int64_t key) { return std::exp2(4 - static_cast<double>(key) / 12); }},
      {"alternating", small, [](int64_t key) { return std::exp2(key % 3 == 0 ? -30.0 : 3 * (key % 5) - 20.0); }},
      {"of both signs", [&](int64_t key) { return key % 2 == 0 ? small(key) : -small(key); },
       [&](int64_t key) { return key % 3 == 0 ? small(key) : -small(key); }},
      {"tiny", small, [](int64_t) { return 1e-30; }},
      {"subnormal", [](int64_t) { return 1e-39; }, [](int64_t) { return 1e-39; }},
      {"least", small, [](int64_t key) { return std::exp2(static_cast<double>(key) / 4 - 140); }},
      {"huge", small, [](int64_t) { return 1e30; }},
      {"mostly zero", small, [](int64_t key) { return key == 77 ? 0.02 : 0; }},
      {"zero", [](int64_t) { return 0; }, [](int64_t) { return 0; }},
      // The mask gives these keys small weights.
      {"large where weights are small", small, [](int64_t key) { return key >= 40 && key < 50 ? 40 : 0.01; }},
      {"of far scores", [](int64_t key) { return key == 60 ? 30 : 1e-6; }, small},
  };
  for (const DType dtype : {DType::f32, DType::f16}) {
    size_t i = 0;
    for (const Scales& kind : kinds) {
      const bool is_masked = i % 2 == 0;
      if (!has_turn(i++, 3)) continue;
      const Layer layer{.batches = 2,
                        .heads = 2,
                        .queries = kRows,
                        .keys = kKeys,
                        .causal = "to_last",
                        .mask = is_masked ? Shape{kRows, kKeys} : Shape{},
                        .lengths = {kKeys, 50},
                        .keys_heads_first = true};
      Request request = with_int8_keys(request_of(layer, dtype));
      if (is_masked) {
        for (int64_t at = 0; at < kRows * kKeys; ++at) {
          const int64_t key = at % kKeys;
          if (key >= 40 && key < 50) set_element(request.inputs.at("mask"), at, -9);
          if (key >= 50 && key < 60) set_element(request.inputs.at("mask"), at, -kInfinity);
        }
      }
      HostTensor& scales = request.inputs.at("scales");
      for (int64_t row = 0; row < 2 * kKeys; ++row) {
        const int64_t key = row % kKeys;
        set_element(scales, 2 * row, kind.of_key(key));
        // The mask hides these keys: their scales are not the row's.
        set_element(scales, 2 * row + 1, is_masked && key >= 50 && key < 60 ? 1e30 : kind.of_value(key));
      }
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), kind.name));
      expect_reference("attention_q8rs", request, kEverythingAsAsked);
      expect_reference("attention_paged_q8rs", in_blocks(request, layer, 2), kEverythingAsAsked);
    }
  }
}

// ---- every form of keys ---------------------------------------------------------------------------------------------

// Masks of -infinity, also for all keys of a row and for all keys of a block. Scores far from each other, the greatest
// first, last and in the middle; NaN and infinities.
TEST_F(AttentionTest, OfSpecialScores) {
  constexpr int64_t kKeys = 200, kRows = 12;
  const Layer layer{.heads = 2, .queries = kRows, .keys = kKeys, .mask = {kRows, kKeys}};
  for (const DType dtype : {DType::f32, DType::f16}) {
    Request request = request_of(layer, dtype);
    HostTensor& mask = request.inputs["mask"];
    const auto set = [&](int64_t row, int64_t first, int64_t last, double score) {
      for (int64_t key = first; key < last; ++key) set_element(mask, row * kKeys + key, score);
    };
    set(0, 0, kKeys, -kInfinity);
    set(1, 0, kKeys - 1, -kInfinity);
    set(2, 1, kKeys, -kInfinity);
    set(3, 64, 128, -kInfinity);
    set(4, 0, 130, -kInfinity);
    set(5, 0, kKeys, 1000);
    set(6, 100, 101, 1000);
    set(7, 0, 64, -1000);
    set(8, 5, 6, kNan);
    set(9, 70, 71, kInfinity);
    set(10, 0, kKeys, -60000);
    for (int64_t key = 0; key < kKeys; ++key) set(11, key, key + 1, 2.0 * static_cast<double>(key));
    for (const bool is_int8 : {false, true}) {
      const Request whole = is_int8 ? with_int8_keys(request) : request;
      for (const bool is_paged : {false, true}) {
        const std::string op = fmt::format("attention{}{}", is_paged ? "_paged" : "", is_int8 ? "_q8rs" : "");
        SCOPED_TRACE(fmt::format("{} {}", op, name(dtype)));
        expect_reference(op, is_paged ? in_blocks(whole, layer, 8) : whole, kEverythingAsAsked);
      }
    }
  }
}

TEST(AttentionCalls, SayWhatTheyCannotAttendTo) {
  using namespace generated::operators;
  const TensorDesc query{DType::f32, {2, 5, 6, 8}}, key{DType::f32, {2, 9, 3, 8}};
  const auto of_keys = [&](const TensorDesc& keys, const TensorDesc& values) {
    return said(attention_call({.query = query, .key = keys, .value = values}));
  };
  EXPECT_TEXT(of_keys({DType::f16, {2, 9, 3, 8}}, key),
              "key is f16, and query is f32\n"
              "  hint: both must have the same dtype");
  const TensorDesc four{DType::f32, {2, 9, 4, 8}};
  EXPECT_TEXT(of_keys(four, four),
              "query has 6 heads, and key has 4\n"
              "  hint: each head of keys belongs to the same number of heads of queries");
  EXPECT_TEXT(of_keys(key, {DType::f32, {2, 9, 3, 1025}}), "heads have 8 and 1025 elements, and can have 1024");
  const auto with = [&](const generated::operators::AttentionAttributes& attributes) {
    return said(attention_call({.query = query, .key = key, .value = key}, attributes));
  };
  EXPECT_TEXT(with({.window = 3}),
              "window is 3, and causal is none\n"
              "  hint: a window ends at the last key that causal allows");
  EXPECT_TEXT(with({.softcap = -1}), "softcap is -1, and can be a finite number that is not below 0");
  const auto masked = [&](const TensorDesc& mask) {
    return said(attention_call({.query = query, .key = key, .value = key, .mask = mask}));
  };
  EXPECT_TEXT(masked({DType::f32, {5, 8}}),
              "mask is [5, 8], and the scores are [2, 6, 5, 9]\n"
              "  hint: each dimension of the mask must be 1 or equal the scores' dimension");
  EXPECT_TEXT(masked({DType::f16, {5, 9}}),
              "mask is f16, and query is f32\n"
              "  hint: both must have the same dtype");
}

TEST(AttentionCalls, HaveNoWindowOfAllKeys) {
  using namespace generated::operators;
  const auto of_window = [&](int64_t queries, int64_t window, generated::words::Causal causal) {
    const TensorDesc query{DType::f32, {2, queries, 6, 8}}, key{DType::f32, {2, 9, 3, 8}};
    return attention_call({.query = query, .key = key, .value = key}, {.causal = causal, .window = window})->problem;
  };
  for (const auto causal : {generated::words::Causal::from_first, generated::words::Causal::to_last}) {
    EXPECT_EQ(of_window(5, 9, causal), of_window(5, 0, causal));
    EXPECT_EQ(of_window(20, 20, causal), of_window(20, 0, causal));
    EXPECT_EQ(of_window(20, std::numeric_limits<int32_t>::max(), causal), of_window(20, 0, causal));
    EXPECT_NE(of_window(5, 8, causal), of_window(5, 0, causal));
    EXPECT_NE(of_window(20, 19, causal), of_window(20, 0, causal));  // rows from 9 on do not see all of their keys
  }
}

TEST(AttentionCalls, SayWhichBlocksTheyCannotRead) {
  using namespace generated::operators;
  const TensorDesc query{DType::f32, {2, 5, 6, 8}};
  const auto with = [&](const TensorDesc& keys, const TensorDesc& blocks) {
    return said(attention_paged_call({.query = query, .key = keys, .value = keys, .blocks = blocks}));
  };
  const TensorDesc table{DType::i32, {2, 4}};
  EXPECT_TEXT(with({DType::f32, {9, 16, 3, 8}}, table), "accepted");
  EXPECT_TEXT(with({DType::f32, {9, 12, 3, 8}}, table),
              "a block has room for 12 keys\n"
              "  hint: it must be a power of two");
  EXPECT_TEXT(with({DType::f32, {9, 65536, 3, 8}}, {DType::i32, {2, 32768}}),
              "a row of blocks has room for 2147483648 keys, and can have room for 2147483647");
  EXPECT_TEXT(with({DType::f16, {9, 16, 3, 8}}, table),
              "key is f16, and query is f32\n"
              "  hint: both must have the same dtype");
  const auto with_int8 = [&](int64_t size, const TensorDesc& scales) {
    const TensorDesc keys{DType::i8, {9, size, 3, 8}};
    return said(
        attention_paged_q8rs_call({.query = query, .key = keys, .value = keys, .scales = scales, .blocks = table}));
  };
  EXPECT_TEXT(with_int8(16, {DType::f32, {9, 16, 3, 2}}), "accepted");
  EXPECT_TEXT(with_int8(12, {DType::f32, {9, 12, 3, 2}}),
              "a block has room for 12 keys\n"
              "  hint: it must be a power of two");
}

TEST(AttentionCalls, SayWhatTheyCannotRotate) {
  using namespace generated::operators;
  const TensorDesc x{DType::f32, {2, 5, 3, 8}}, table{DType::f32, {9, 4}};
  const auto by = [&](const TensorDesc& cos, const TensorDesc& sin) {
    return said(rotary_embedding_call({.input = x, .cos = cos, .sin = sin}));
  };
  EXPECT_TEXT(by({DType::f16, {9, 4}}, table),
              "cos is f16, and input is f32\n"
              "  hint: both must have the same dtype");
  EXPECT_TEXT(by(table, {DType::f32, {8, 4}}),
              "sin has shape [8, 4]\n"
              "  hint: it is [P, R] or [B, S, R], and B of input is 2, P of cos is 9, R of cos is 4");
  const TensorDesc wide{DType::f32, {9, 5}}, others{DType::f32, {2, 3, 4}};
  EXPECT_TEXT(by(wide, wide),
              "cos has 5 angles, and a head has 8 elements\n"
              "  hint: an angle rotates two elements");
  EXPECT_TEXT(by(others, others), "cos is [2, 3, 4], and input has 2 batches of 5 rows");
  const auto from = [&](const TensorDesc& cos, const TensorDesc& positions) {
    return said(rotary_embedding_call({.input = x, .cos = cos, .sin = cos, .positions = positions}));
  };
  EXPECT_TEXT(from(table, {DType::i32, {2, 4}}), "positions is [2, 4], and input has 2 batches of 5 rows");
  EXPECT_TEXT(from({DType::f32, {2, 5, 4}}, {DType::i32, {1}}),
              "cos is [2, 5, 4], and there are positions\n"
              "  hint: positions are of a table [P, R]; a row for each row of the input needs none");
  EXPECT_TEXT(said(rotary_embedding_call({.input = x, .cos = table, .sin = table}, {.from_last = true})),
              "from_last is set, and positions are not [B]\n"
              "  hint: it needs a position for the last row of each batch");
}

}  // namespace
}  // namespace qgen
