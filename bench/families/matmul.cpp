// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of floating-point matrix products.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Linear layers for a token, few and many; with a transposed weight, which is best for few rows.
constexpr Size kLayers[] = {{1, 4096, 14336},  {4, 4096, 4096},    {8, 4096, 4096},   {32, 4096, 4096},
                            {512, 4096, 4096}, {512, 4096, 14336}, {4096, 4096, 4096}};
// Attention of 32 heads: scores, and their weighted sums.
constexpr Size kProducts[] = {{512, 128, 512}, {512, 512, 128}, {1, 128, 2048}, {1, 2048, 128}};
constexpr int kHeads = 32;

Row product(std::string size, std::string_view batch, const Size& sides, std::string_view real, bool is_transposed) {
  const auto [rows, columns] = is_transposed ? std::pair{sides.n, sides.k} : std::pair{sides.k, sides.n};
  const TimedRequest chosen{{.shapes = {fmt::format("input={}{}x{}:{}", batch, sides.m, sides.k, real),
                                        fmt::format("other={}{}x{}:{}", batch, rows, columns, real)},
                             .attributes = is_transposed ? Texts{"transpose_other=true"} : Texts{}}};
  return {"matmul", fmt::format("{}.{}{}", size, real, is_transposed ? ".transposed" : ""), chosen,
          TimedRequest{chosen.request, ".plain("}, operations(sides)};
}

}  // namespace

Family matmul_family() {
  Family family;
  const std::string heads = fmt::format("{}x", kHeads);
  for (const std::string_view real : {"f32", "f16"}) {
    for (const bool is_transposed : {false, true}) {
      for (const Size& size : kLayers) family.rows.push_back(product(text(size), "", size, real, is_transposed));
      for (const Size& size : kProducts) {
        family.rows.push_back(product(heads + text(size), heads, size, real, is_transposed));
        family.rows.back().operations *= kHeads;
      }
    }
  }
  family.short_sizes = {{"matmul",
                         {"1x4096x14336.f16.transposed", "8x4096x4096.f16.transposed", "512x4096x14336.f32",
                          "512x4096x14336.f16", "32x512x128x512.f16.transposed", "32x512x512x128.f16"}}};
  return family;
}

}  // namespace qgen::bench
