// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums along the last dimension, and along an image.
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
  family.short_sizes = {{"reduce", {"sum.4096x4096.last.f32"}}};
  return family;
}

}  // namespace qgen::bench
