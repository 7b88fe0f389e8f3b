// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of operators that move elements.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

void add_movement(std::vector<Row>& rows) {
  const auto add_of = [&](std::string op, std::string size, Texts inputs, Texts attributes) {
    rows.push_back({std::move(op),
                    std::move(size),
                    TimedRequest{{.shapes = std::move(inputs), .attributes = std::move(attributes)}},
                    {}});
  };
  const auto add = [&](std::string op, std::string size, std::string_view input, Texts attributes) {
    add_of(std::move(op), std::move(size), {fmt::format("input={}", input)}, std::move(attributes));
  };
  for (const std::string_view dtype : {"f32", "f16", "i8"}) {
    add("permute", fmt::format("8192x8192.{}", dtype), fmt::format("8192x8192:{}", dtype), {});
    add("permute", fmt::format("8x512x32x128.heads.{}", dtype), fmt::format("8x512x32x128:{}", dtype),
        {"permutation=0,2,1,3"});
  }
  add("slice", "8192x8192.half.f16", "8192x8192:f16", {"starts=0,4096", "ends=8192,8192"});
  add("expand", "8192x1.f16", "8192x1:f16", {"sizes=8192,8192"});
  add("pad", "8x64x224x224.1.f16", "8x64x224x224:f16", {"before=0,0,1,1", "after=0,0,1,1"});
  add_of("concat", "8x64_128_32_32x64x64.f16",
         {"input_1=8x64x64x64:f16", "input_2=8x128x64x64:f16", "input_3=8x32x64x64:f16", "input_4=8x32x64x64:f16"}, {});
  add_of("concat", "8192x4095_4097.f16", {"input_1=8192x4095:f16", "input_2=8192x4097:f16"}, {});
  add_of("gather", "8192_of_16384x4096.f16", {"input=16384x4096:f16", "indices=8192:i32=0..16383"}, {});
  // A token of a model with 8 heads of keys, and a prompt.
  for (const std::string_view tokens : {"1", "2048"}) {
    add_of("cache_write", fmt::format("{}_of_8192x8x128.f16", tokens),
           {"key_cache=1x8x8192x128:f16", "value_cache=1x8x8192x128:f16", fmt::format("key=1x{}x8x128:f16", tokens),
            fmt::format("value=1x{}x8x128:f16", tokens), "last=1:i32=8000"},
           {});
    add_of("cache_write_paged", fmt::format("{}_of_8192x8x128.f16", tokens),
           {"key_cache=512x8x16x128:f16", "value_cache=512x8x16x128:f16", fmt::format("key=1x{}x8x128:f16", tokens),
            fmt::format("value=1x{}x8x128:f16", tokens), "blocks=1x512:i32=0..511", "last=1:i32=8000"},
           {});
    add_of("cache_write_q8rs", fmt::format("{}_of_8192x8x128.f16", tokens),
           {"key_cache=1x8x8192x128:i8", "value_cache=1x8x8192x128:i8", "scale_cache=1x8x8192x2:f32",
            fmt::format("key=1x{}x8x128:f16", tokens), fmt::format("value=1x{}x8x128:f16", tokens), "last=1:i32=8000"},
           {});
    add_of("cache_write_paged_q8rs", fmt::format("{}_of_8192x8x128.f16", tokens),
           {"key_cache=512x8x16x128:i8", "value_cache=512x8x16x128:i8", "scale_cache=512x8x16x2:f32",
            fmt::format("key=1x{}x8x128:f16", tokens), fmt::format("value=1x{}x8x128:f16", tokens),
            "blocks=1x512:i32=0..511", "last=1:i32=8000"},
           {});
  }
  add_of("gather_elements", "8192x4096.f16", {"input=8192x4096:f16", "indices=8192x4096:i32=0..8191"}, {});
}

}  // namespace

Family movement_family() {
  Family family;
  add_movement(family.rows);
  family.short_sizes = {
      {"permute", {"8192x8192.f16", "8x512x32x128.heads.f16"}},
      {"slice", {"8192x8192.half.f16"}},
      {"expand", {"8192x1.f16"}},
      {"pad", {"8x64x224x224.1.f16"}},
      {"concat", {"8x64_128_32_32x64x64.f16", "8192x4095_4097.f16"}},
      {"gather", {"8192_of_16384x4096.f16"}},
      {"gather_elements", {"8192x4096.f16"}},
      {"cache_write", {"2048_of_8192x8x128.f16"}},
      {"cache_write_paged", {"2048_of_8192x8x128.f16"}},
      {"cache_write_paged_q8rs", {"2048_of_8192x8x128.f16"}},
      {"cache_write_q8rs", {"2048_of_8192x8x128.f16"}},
  };
  return family;
}

}  // namespace qgen::bench
