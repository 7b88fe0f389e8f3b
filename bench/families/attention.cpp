// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention and rotary embeddings of language models.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Heads of 128 of a model that is 4,096 wide: one token, and a prompt.
void add_rotations(std::vector<Row>& rows) {
  for (const std::string_view tokens : {"1", "2048"}) {
    const TimedRequest timed{
        {.shapes = {fmt::format("input=1x{}x32x128:f16", tokens), "cos=4096x64:f16", "sin=4096x64:f16"}}};
    rows.push_back({"rotary_embedding", fmt::format("{}x32x128.f16", tokens), timed, std::nullopt});
  }
}

// The same with 8 heads of keys, which are written into a cache.
void add_cached_rotations(std::vector<Row>& rows) {
  for (const std::string_view tokens : {"1", "512"}) {
    const TimedRequest timed{
        {.shapes = {fmt::format("query=1x{}x48x128:f16", tokens), "key_cache=1x8x8192x128:f16",
                    "value_cache=1x8x8192x128:f16", "cos=8192x64:f16", "sin=8192x64:f16", "last=1:i32=8000"}}};
    rows.push_back({"rotary_cache_write", fmt::format("{}x32x8x128.f16", tokens), timed, std::nullopt});
    const TimedRequest of_int8{{.shapes = {fmt::format("query=1x{}x48x128:f16", tokens), "key_cache=1x8x8192x128:i8",
                                           "value_cache=1x8x8192x128:i8", "scale_cache=1x8x8192x2:f32",
                                           "cos=8192x64:f16", "sin=8192x64:f16", "last=1:i32=8000"}}};
    rows.push_back({"rotary_cache_write_q8rs", fmt::format("{}x32x8x128.f16", tokens), of_int8, std::nullopt});
    const TimedRequest in_blocks{{.shapes = {fmt::format("query=1x{}x48x128:f16", tokens), "key_cache=512x8x16x128:f16",
                                             "value_cache=512x8x16x128:f16", "cos=8192x64:f16", "sin=8192x64:f16",
                                             "blocks=1x512:i32=0..511", "last=1:i32=8000"}}};
    rows.push_back({"rotary_cache_write_paged", fmt::format("{}x32x8x128.f16", tokens), in_blocks, std::nullopt});
    const TimedRequest int8_in_blocks{
        {.shapes = {fmt::format("query=1x{}x48x128:f16", tokens), "key_cache=512x8x16x128:i8",
                    "value_cache=512x8x16x128:i8", "scale_cache=512x8x16x2:f32", "cos=8192x64:f16", "sin=8192x64:f16",
                    "blocks=1x512:i32=0..511", "last=1:i32=8000"}}};
    rows.push_back(
        {"rotary_cache_write_paged_q8rs", fmt::format("{}x32x8x128.f16", tokens), int8_in_blocks, std::nullopt});
  }
}

// 32 heads of 128, 8 of keys: prompts, and one token or a few with a cache.
void add_attention(std::vector<Row>& rows) {
  for (const auto& [queries, keys] : {std::pair{2048, 2048}, {128, 2048}, {8, 8192}, {1, 8192}, {1, 128}}) {
    const TimedRequest timed{
        {.shapes = {fmt::format("query=1x{}x32x128:f16", queries), fmt::format("key=1x{}x8x128:f16", keys),
                    fmt::format("value=1x{}x8x128:f16", keys)},
         .attributes = {"causal=to_last"}}};
    rows.push_back({"attention", fmt::format("{}x{}x32x8x128.f16", queries, keys), timed, std::nullopt});
    const TimedRequest of_int8{
        {.shapes = {fmt::format("query=1x{}x32x128:f16", queries), fmt::format("key=1x{}x8x128:i8", keys),
                    fmt::format("value=1x{}x8x128:i8", keys), fmt::format("scales=1x{}x8x2:f32", keys)},
         .attributes = {"causal=to_last"}}};
    rows.push_back({"attention_q8rs", fmt::format("{}x{}x32x8x128.f16", queries, keys), of_int8, std::nullopt});
    const TimedRequest in_blocks{
        {.shapes = {fmt::format("query=1x{}x32x128:f16", queries), fmt::format("key={}x16x8x128:f16", keys / 16),
                    fmt::format("value={}x16x8x128:f16", keys / 16),
                    fmt::format("blocks=1x{}:i32=0..{}", keys / 16, keys / 16 - 1)},
         .attributes = {"causal=to_last"}}};
    rows.push_back({"attention_paged", fmt::format("{}x{}x32x8x128.f16", queries, keys), in_blocks, std::nullopt});
    const TimedRequest int8_in_blocks{
        {.shapes = {fmt::format("query=1x{}x32x128:f16", queries), fmt::format("key={}x16x8x128:i8", keys / 16),
                    fmt::format("value={}x16x8x128:i8", keys / 16), fmt::format("scales={}x16x8x2:f32", keys / 16),
                    fmt::format("blocks=1x{}:i32=0..{}", keys / 16, keys / 16 - 1)},
         .attributes = {"causal=to_last"}}};
    rows.push_back(
        {"attention_paged_q8rs", fmt::format("{}x{}x32x8x128.f16", queries, keys), int8_in_blocks, std::nullopt});
  }
}

}  // namespace

Family attention_family() {
  Family family;
  add_attention(family.rows);
  add_rotations(family.rows);
  add_cached_rotations(family.rows);
  family.short_sizes = {{"attention", {"2048x2048x32x8x128.f16", "1x8192x32x8x128.f16"}},
                        {"attention_paged", {"2048x2048x32x8x128.f16", "1x8192x32x8x128.f16"}},
                        {"attention_paged_q8rs", {"2048x2048x32x8x128.f16", "1x8192x32x8x128.f16"}},
                        {"attention_q8rs", {"2048x2048x32x8x128.f16", "1x8192x32x8x128.f16"}},
                        {"rotary_embedding", {"2048x32x128.f16"}},
                        {"rotary_cache_write", {"512x32x8x128.f16"}},
                        {"rotary_cache_write_paged", {"512x32x8x128.f16"}},
                        {"rotary_cache_write_paged_q8rs", {"512x32x8x128.f16"}},
                        {"rotary_cache_write_q8rs", {"512x32x8x128.f16"}}};
  return family;
}

}  // namespace qgen::bench
