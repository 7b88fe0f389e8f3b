// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums along the last dimension, and along an image; and a token drawn from its logits.
#include "bench/family.h"

namespace qgen::bench {

Family reduction_family() {
  Family family;
  const auto add = [&](std::string_view name, std::string shape, std::string axes) {
    const TimedRequest request{{.shapes = {std::move(shape)}, .attributes = {"operation=sum", "axes=" + axes}}};
    family.rows.push_back({"reduce", std::string(name), request, std::nullopt});
  };
  add("sum.4096x4096.last.f32", "input=4096x4096:f32", "1");
  add("sum.4096x4096.first.f32", "input=4096x4096:f32", "0");
  const TimedRequest drawn{{.shapes = {"logits=1x131072:f16", "top_k=1:i32=40", "temperature=1:f32=0.8", "seed=2:i32=7",
                                       "draws=1x2:i32=3"}}};
  family.rows.push_back({"sample", "1x131072.f16", drawn, std::nullopt});
  family.short_sizes = {{"reduce", {"sum.4096x4096.last.f32"}}, {"sample", {"1x131072.f16"}}};
  return family;
}

}  // namespace qgen::bench
