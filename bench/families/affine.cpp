// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of affine quantization, for every granularity.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

struct Blocks {
  std::string_view name, scale, block_size;
};
constexpr Blocks kBlocks[] = {{"tensor", "1x1", "8192,8192"},
                              {"rows", "8192x1", "1,8192"},
                              {"columns", "1x8192", "8192,1"},
                              {"groups_of_128", "8192x64", "1,128"}};

void add_affine(std::vector<Row>& rows) {
  for (const Blocks& blocks : kBlocks) {
    const std::string scale = fmt::format("scale={}:f32=0.05", blocks.scale);
    for (const std::string_view real : {"f32", "f16"}) {
      const TimedRequest quantize{{.shapes = {fmt::format("input=8192x8192:{}", real), scale}}};
      for (const char* op : {"quantize_affine", "quantize_linear"}) {
        rows.push_back(
            {op, fmt::format("8192x8192.{}.{}", real, blocks.name), quantize, TimedRequest{quantize.request, ".vec1"}});
      }
    }
    const TimedRequest dequantize{{.shapes = {"input=8192x8192:i8", scale}}};
    rows.push_back({"dequantize_affine", fmt::format("8192x8192.{}", blocks.name), dequantize,
                    TimedRequest{dequantize.request, ".vec1"}});
    const TimedRequest choose{
        {.shapes = {"input=8192x8192:f32"}, .attributes = {fmt::format("block_size={}", blocks.block_size)}}};
    // One team would take more steps over a whole tensor than the plain kernel makes: there it has partial results.
    const std::string_view plain = blocks.name == "tensor" ? "partial" : "affine";
    rows.push_back({"choose_qparams_affine", fmt::format("8192x8192.{}", blocks.name), choose,
                    TimedRequest{choose.request, fmt::format("choose_qparams_{}.f32.buffer.shared.vec1", plain)}});
  }
  for (const std::string_view shape : {"1x64x512x512", "1x512x32x32"}) {
    const TimedRequest quantize{{.shapes = {fmt::format("input={}:f32", shape)}}};
    rows.push_back({"dynamic_quantize_image", fmt::format("{}.f32", shape), quantize,
                    TimedRequest{quantize.request, "two_pass(choose_qparams_partial.f32.buffer.shared.vec4"}});
  }
  for (const auto& [m, k] : {std::pair{256, 1024}, {512, 2048}, {1, 2048}, {1, 8096}}) {
    const TimedRequest choose{
        {.shapes = {fmt::format("input={}x{}:f32", m, k)}, .attributes = {fmt::format("block_size=1,{}", k)}}};
    rows.push_back({"choose_qparams_affine", fmt::format("{}x{}.rows", m, k), choose,
                    TimedRequest{choose.request, "choose_qparams_affine.f32.buffer.shared.vec1"}});
  }
}

}  // namespace

Family affine_family() {
  Family family;
  add_affine(family.rows);
  family.short_sizes = {
      {"quantize_affine", {"8192x8192.f32.tensor", "8192x8192.f16.groups_of_128"}},
      {"quantize_linear", {"8192x8192.f32.tensor"}},
      {"dequantize_affine", {"8192x8192.tensor", "8192x8192.groups_of_128"}},
      {"dynamic_quantize_image", {"1x64x512x512.f32"}},
      {"choose_qparams_affine", {"8192x8192.tensor", "8192x8192.rows", "8192x8192.columns"}},
  };
  return family;
}

}  // namespace qgen::bench
