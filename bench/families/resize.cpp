// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of resizing: images that become larger.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Images twice as large: of pyramids, and of networks that draw.
void add_resizes(std::vector<Row>& rows) {
  const Texts twice = {"sizes=128,128"};
  for (const std::string mode : {"nearest", "linear"}) {
    rows.push_back({"resize2d",
                    fmt::format("8x256x64x64.{}.f16", mode),
                    TimedRequest{{.shapes = {"input=8x256x64x64:f16"}, .attributes = joined(twice, {"mode=" + mode})}},
                    {}});
  }
  for (const std::string_view layout : {"packed_4c", "packed_4w4c"}) {
    rows.push_back(in_layouts("q8ta_resize2d", "8x256x64x64", {"input=8x256x64x64:i8"}, twice,
                              {fmt::format("input={}", layout), fmt::format("output={}", layout)}));
  }
}

}  // namespace

Family resize_family() {
  Family family;
  add_resizes(family.rows);
  family.short_sizes = {
      {"resize2d", {"8x256x64x64.nearest.f16", "8x256x64x64.linear.f16"}},
      {"q8ta_resize2d", {"8x256x64x64.packed_4c.packed_4c"}},
  };
  return family;
}

}  // namespace qgen::bench
