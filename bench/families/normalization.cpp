// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of softmax and layer norm.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Scores of attention, and the tokens of a large model.
void add_normalization(std::vector<Row>& rows) {
  for (const std::string_view real : {"f32", "f16"}) {
    const TimedRequest softmax{{.shapes = {fmt::format("input=32x512x512:{}", real)}}};
    rows.push_back({"softmax", fmt::format("32x512x512.{}", real), softmax, TimedRequest{softmax.request, ".shared"}});
    const TimedRequest norm{{.shapes = {fmt::format("input=2048x4096:{}", real), fmt::format("weight=4096:{}", real),
                                        fmt::format("bias=4096:{}", real)}}};
    rows.push_back({"layer_norm", fmt::format("2048x4096.{}", real), norm, TimedRequest{norm.request, ".shared"}});
  }
}

}  // namespace

Family normalization_family() {
  Family family;
  add_normalization(family.rows);
  family.short_sizes = {
      {"softmax", {"32x512x512.f16"}},
      {"layer_norm", {"2048x4096.f16"}},
  };
  return family;
}

}  // namespace qgen::bench
