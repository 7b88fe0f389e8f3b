// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chains of element-wise steps: one step, a function, and a long one.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {

Family pointwise_family() {
  Family family;
  const auto add = [&](std::string_view name, const std::string& steps, std::vector<std::string> shapes) {
    const TimedRequest request{{.shapes = std::move(shapes), .attributes = {"steps=" + steps}}};
    family.rows.push_back({"pointwise", std::string(name), request, std::nullopt});
  };
  add("square_root.32x56x56x64.f32", "26,1,255,255", {"input_1=32x56x56x64:f32"});
  add("silu.32x56x56x64.f32", "31,1,255,255,2,1,0,255", {"input_1=32x56x56x64:f32"});
  add("channels.32x64x56x56.f32", "3,1,2,255", {"input_1=32x64x56x56:f32", "input_2=64x1x1:f32"});
  for (const std::string_view rows : {"1", "512"}) {
    const TimedRequest request{{.shapes = {fmt::format("input={}x28672:f16", rows)}}};
    family.rows.push_back({"silu_mul", fmt::format("{}x14336.f16", rows), request, std::nullopt});
  }
  family.short_sizes = {{"pointwise", {"silu.32x56x56x64.f32"}}, {"silu_mul", {"512x14336.f16"}}};
  return family;
}

}  // namespace qgen::bench
