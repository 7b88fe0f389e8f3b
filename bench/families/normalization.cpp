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
    const TimedRequest long_row{{.shapes = {fmt::format("input=1x131072:{}", real)}}};
    rows.push_back({"softmax", fmt::format("1x131072.{}", real), long_row, TimedRequest{long_row.request, ".shared"}});
    const TimedRequest norm{{.shapes = {fmt::format("input=2048x4096:{}", real), fmt::format("weight=4096:{}", real),
                                        fmt::format("bias=4096:{}", real)}}};
    rows.push_back({"layer_norm", fmt::format("2048x4096.{}", real), norm, TimedRequest{norm.request, ".shared"}});
    const TimedRequest skip_layer{
        {.shapes = {fmt::format("input=2048x4096:{}", real), fmt::format("skip=2048x4096:{}", real),
                    fmt::format("weight=4096:{}", real), fmt::format("bias=4096:{}", real)}}};
    rows.push_back({"skip_layer_norm", fmt::format("2048x4096.{}", real), skip_layer,
                    TimedRequest{skip_layer.request, ".shared"}});
    for (const std::string_view tokens : {"1", "2048"}) {
      const TimedRequest rms{
          {.shapes = {fmt::format("input={}x4096:{}", tokens, real), fmt::format("weight=4096:{}", real)}}};
      rows.push_back({"rms_norm", fmt::format("{}x4096.{}", tokens, real), rms, TimedRequest{rms.request, ".shared"}});
      const TimedRequest skip{
          {.shapes = {fmt::format("input={}x4096:{}", tokens, real), fmt::format("skip={}x4096:{}", tokens, real),
                      fmt::format("weight=4096:{}", real)}}};
      rows.push_back(
          {"skip_rms_norm", fmt::format("{}x4096.{}", tokens, real), skip, TimedRequest{skip.request, ".shared"}});
    }
  }
}

}  // namespace

Family normalization_family() {
  Family family;
  add_normalization(family.rows);
  family.short_sizes = {
      {"softmax", {"32x512x512.f16", "1x131072.f16"}},
      {"layer_norm", {"2048x4096.f16"}},
      {"rms_norm", {"2048x4096.f16"}},
      {"skip_layer_norm", {"2048x4096.f16"}},
      {"skip_rms_norm", {"1x4096.f16", "2048x4096.f16"}},
  };
  return family;
}

}  // namespace qgen::bench
