// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of pools.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

struct Pool {
  std::string_view op, image, window;
  Texts attributes;
};

// The first and last pools of networks for images, pools of pyramids, and one that fills a large device.
const Pool kPools[] = {
    {"q8ta_max_pool2d", "1x64x112x112", "3x3s2", {"kernel_size=3", "stride=2", "padding=1"}},
    {"q8ta_max_pool2d", "1x64x224x224", "2x2s2", {"kernel_size=2"}},
    {"q8ta_max_pool2d", "1x256x40x40", "13x13s1", {"kernel_size=13", "stride=1", "padding=6"}},
    {"q8ta_max_pool2d", "8x256x128x128", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "1x128x56x56", "2x2s2", {"kernel_size=2"}},
    {"q8ta_avg_pool2d", "1x288x35x35", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "8x256x128x128", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "1x2048x7x7", "global", {}},
    {"q8ta_avg_pool2d", "8x256x128x128", "global", {}},
};

void add_pools(std::vector<Row>& rows) {
  for (const Pool& pool : kPools) {
    Texts attributes = pool.attributes;
    if (pool.op == "q8ta_avg_pool2d") attributes = joined(joined(kInput, kOutput), attributes);
    for (const std::string_view layout : {"strided", "packed_4c", "packed_4w4c"}) {
      rows.push_back(in_layouts(std::string(pool.op), fmt::format("{}.{}", pool.image, pool.window),
                                {fmt::format("input={}:i8", pool.image)}, attributes,
                                {fmt::format("input={}", layout), fmt::format("output={}", layout)},
                                ".plain.strided.strided/team1."));
    }
  }
}

// The same pools in floating point.
void add_real_pools(std::vector<Row>& rows) {
  for (const Pool& pool : kPools) {
    for (const std::string_view real : {"f32", "f16"}) {
      const TimedRequest way{{.shapes = {fmt::format("input={}:{}", pool.image, real)}, .attributes = pool.attributes}};
      rows.push_back({std::string(pool.op.substr(5)), fmt::format("{}.{}.{}", pool.image, pool.window, real), way, {}});
    }
  }
}

}  // namespace

Family pool_family() {
  Family family;
  add_pools(family.rows);
  add_real_pools(family.rows);
  family.short_sizes = {
      {"q8ta_max_pool2d", {"8x256x128x128.3x3s1.packed_4w4c.packed_4w4c"}},
      {"q8ta_avg_pool2d",
       {"8x256x128x128.3x3s1.packed_4w4c.packed_4w4c", "8x256x128x128.global.packed_4w4c.packed_4w4c"}},
      {"max_pool2d", {"8x256x128x128.3x3s1.f16"}},
      {"avg_pool2d", {"8x256x128x128.3x3s1.f16", "1x2048x7x7.global.f16"}},
  };
  return family;
}

}  // namespace qgen::bench
