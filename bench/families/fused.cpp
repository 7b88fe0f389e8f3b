// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of operators whose operands are floating-point or quantized.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// Compared with the same kernel on four elements an invocation.
Row fused(const std::string& op, const std::string& dtypes, const runner::RequestText& request) {
  return {op, "8192x8192." + dtypes, {request}, TimedRequest{request, ".items1"}};
}

void add_fused(std::vector<Row>& rows) {
  const std::string reals = "input=8192x8192:f32", bytes = "input=8192x8192:i8", words = "input=8192x8192:i16";
  const std::string scale = "input_scale=1x1:f32=0.04", output_scale = "output_scale=1x1:f32=0.05";
  const std::string other = "other=8192x8192:f32";
  for (const std::string op : {"fused_relu", "fused_hardswish", "fused_sigmoid", "fused_clip"}) {
    rows.push_back(fused(op, "f32.i8", {.shapes = {reals, output_scale}}));
    rows.push_back(fused(op, "i8.f32", {.shapes = {bytes, scale}}));
  }
  for (const std::string op : {"fused_add", "fused_mul"}) {
    const Texts all_bytes = {bytes, scale, "other=8192x8192:i8", "other_scale=1x1:f32=0.02", output_scale};
    rows.push_back(fused(op, "i8.f32.f32", {.shapes = {bytes, scale, other}}));
    rows.push_back(fused(op, "i8.i8.i8", {.shapes = all_bytes}));
    rows.push_back(fused(op, "i16.f32.i16",
                         {.shapes = {words, scale, other, output_scale}, .attributes = {"output_dtype=int16"}}));
  }
  rows.push_back(fused("requantize", "i8.i8", {.shapes = {bytes, scale, output_scale}}));
}

// Attention of 32 heads: scores, their weighted sums, and both for one token.
constexpr Size kProducts[] = {{512, 128, 512}, {512, 512, 128}, {1, 128, 2048}, {1, 2048, 128}};
constexpr int kHeads = 32;

void add_products(std::vector<Row>& rows) {
  for (const Size& size : kProducts) {
    const auto shape = [](std::string_view operand, int m, int n, std::string_view dtype) {
      return fmt::format("{}={}x{}x{}:{}", operand, kHeads, m, n, dtype);
    };
    const Texts other = {shape("other", size.k, size.n, "i8"), "other_scale=1x1x1:f32=0.02"};
    const Texts bytes = joined({shape("input", size.m, size.k, "i8"), "input_scale=1x1x1:f32=0.04"}, other);
    const Texts reals = joined({shape("input", size.m, size.k, "f32")}, other);
    const TimedRequest to_bytes{{.shapes = joined(bytes, {"output_scale=1x1x1:f32=0.5"})}}, to_reals{{.shapes = bytes}};
    const TimedRequest of_unsigned{
        {.shapes = joined({shape("input", size.m, size.k, "u8"), "input_scale=1x1x1:f32=0.004"}, other)}};
    const std::string name = fmt::format("{}x{}", kHeads, text(size));
    const double work = kHeads * operations(size);
    rows.push_back({"bmm", name + ".i8.i8.i8", to_bytes, TimedRequest{to_bytes.request, ".plain("}, work});
    rows.push_back({"bmm", name + ".i8.i8.f32", to_reals, TimedRequest{to_reals.request, ".plain("}, work});
    rows.push_back({"bmm", name + ".u8.i8.f32", of_unsigned, TimedRequest{of_unsigned.request, ".plain("}, work});
    rows.push_back({"fused_bmm", name + ".f32.i8.f32", {{.shapes = reals}}, {}, work});
  }
}

}  // namespace

Family fused_family() {
  Family family;
  add_fused(family.rows);
  add_products(family.rows);
  family.short_sizes = {
      {"requantize", {"8192x8192.i8.i8"}},          {"fused_relu", {"8192x8192.f32.i8"}},
      {"fused_hardswish", {"8192x8192.i8.f32"}},    {"fused_sigmoid", {"8192x8192.f32.i8"}},
      {"fused_clip", {"8192x8192.f32.i8"}},         {"fused_add", {"8192x8192.i8.i8.i8", "8192x8192.i8.f32.f32"}},
      {"fused_mul", {"8192x8192.i8.i8.i8"}},        {"bmm", {"32x512x128x512.i8.i8.i8", "32x1x128x2048.i8.i8.f32"}},
      {"fused_bmm", {"32x512x128x512.f32.i8.f32"}},
  };
  return family;
}

}  // namespace qgen::bench
