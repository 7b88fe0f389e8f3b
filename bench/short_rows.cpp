// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows of `operators_bench --short`: every operator at sizes that fill a large GPU, each granularity, layout or
// number of rows that has a kernel of its own once. tests/bench holds the list to the registry and to operator_rows().
#include <fmt/format.h>

#include <algorithm>

#include "bench/operator_rows.h"
#include "q8ta_unary.h"
#include "runtime/library/signature_info.h"
#include "runtime/operators/shipped.h"
#include "runtime/tuner/task.h"

namespace qgen::bench {
namespace {

struct Selected {
  std::string_view op;
  std::vector<std::string_view> sizes;
};

// m x k x n: a token, few rows, many. Rivals of many rows take as long as all other rows together: 512 are enough.
const std::vector<std::string_view> kLayers = {"1x4096x14336.f16", "4x4096x4096.f16", "512x4096x14336.f16"};
constexpr std::string_view kBlocks = "8x256x128x128.packed_4w4c.packed_4w4c";
constexpr std::string_view kThreeBlocks = "8x256x128x128.packed_4w4c.packed_4w4c.packed_4w4c";

std::vector<Selected> selected() {
  std::vector<Selected> rows = {
      {"quantize_affine", {"8192x8192.f32.tensor", "8192x8192.f16.groups_of_128"}},
      {"dequantize_affine", {"8192x8192.tensor", "8192x8192.groups_of_128"}},
      {"choose_qparams_affine", {"8192x8192.tensor", "8192x8192.rows", "8192x8192.columns"}},
      {"q8ta_quantize", {"8x256x128x128.packed_4w4c"}},
      {"q8ta_dequantize", {"8x256x128x128.packed_4w4c"}},
      {"q8ta_clone", {"8x256x128x128.packed_4w4c.strided", "8x256x128x128.packed_4w4c.packed_4c1w"}},
      {"q8ta_add", {kThreeBlocks, "8x256x128x128.packed_4w4c.packed_4c1w.packed_4c1w"}},
      {"q8ta_sub", {kThreeBlocks}},
      {"q8ta_mul", {kThreeBlocks}},
      {"q8ta_pixel_shuffle", {"1x96x128x72.packed_4w4c.packed_4w4c"}},
      {"q8ta_concat",
       {"8x64_128_32_32x64x64.packed_4w4c.packed_4w4c.packed_4w4c.packed_4w4c.packed_4w4c",
        "8x126_130x128x128.packed_4w4c.packed_4w4c.packed_4w4c"}},
      {"permute", {"8192x8192.f16", "8x512x32x128.heads.f16"}},
      {"slice", {"8192x8192.half.f16"}},
      {"expand", {"8192x1.f16"}},
      {"pad", {"8x64x224x224.1.f16"}},
      {"softmax", {"32x512x512.f16"}},
      {"layer_norm", {"2048x4096.f16"}},
      {"q8ta_max_pool2d", {"8x256x128x128.3x3s1.packed_4w4c.packed_4w4c"}},
      {"q8ta_avg_pool2d",
       {"8x256x128x128.3x3s1.packed_4w4c.packed_4w4c", "8x256x128x128.global.packed_4w4c.packed_4w4c"}},
      {"max_pool2d", {"8x256x128x128.3x3s1.f16"}},
      {"avg_pool2d", {"8x256x128x128.3x3s1.f16", "1x2048x7x7.global.f16"}},
      {"resize2d", {"8x256x64x64.nearest.f16", "8x256x64x64.linear.f16"}},
      {"q8ta_resize2d", {"8x256x64x64.packed_4c.packed_4c"}},
      // Lines of an image, vectors of channels, slices of a long k, a linear layer of pixels, depthwise, phases.
      {"q8ta_conv2d",
       {"1x3x224x224.64.7x7s2p3.packed_4c.packed_4c", "8x256x128x128.256.3x3s1p1.packed_4c.packed_4c",
        "1x512x7x7.512.3x3s1p1.packed_4c.packed_4c", "32x64x56x56.256.1x1s1p0.packed_4c.packed_4c",
        "1x64x128x128.64.3x3s1p1.g64.packed_4c.packed_4c"}},
      {"conv2d_q8ta_q8csw", {"32x256x14x14.256.3x3s1p1.f32", "1x64x128x128.64.3x3s1p1.g64.f16"}},
      {"conv2d_q8csw", {"32x256x14x14.256.3x3s1p1.f32", "32x256x14x14.256.3x3s1p1.f16"}},
      {"q8ta_conv2d_transposed", {"1x128x32x32.64.3x3s2p1.packed_4c.packed_4c"}},
      {"requantize", {"8192x8192.i8.i8"}},
      {"fused_relu", {"8192x8192.f32.i8"}},
      {"fused_hardswish", {"8192x8192.i8.f32"}},
      {"fused_sigmoid", {"8192x8192.f32.i8"}},
      {"fused_clip", {"8192x8192.f32.i8"}},
      {"fused_add", {"8192x8192.i8.i8.i8", "8192x8192.i8.f32.f32"}},
      {"fused_mul", {"8192x8192.i8.i8.i8"}},
      {"bmm", {"32x512x128x512.i8.i8.i8", "32x1x128x2048.i8.i8.f32"}},
      {"fused_bmm", {"32x512x128x512.f32.i8.f32"}},
      {"q8ta_linear",
       {"1x4096x14336.strided.strided", "4x4096x4096.strided.strided", "512x4096x14336.packed_4h4w.packed_4h4w",
        "4096x4096x4096.strided.strided"}},
      {"linear_q8ta_q8csw", kLayers},
      {"linear_q8csw", kLayers},
      {"linear_q4gsw", kLayers},
      {"linear_dq8ca_q8csw", kLayers},
      {"linear_dq8ca_q4gsw", kLayers},
      {"linear_q4gsw_backward", {"1x4096x4096.f16", "256x4096x4096.f16"}},
      {"pack_weight", {"14336x4096.weight_q8_panels", "14336x4096.weight_q4_rows"}},
      {"quantize_q4gsw", {"14336x4096.f16"}},
      {"embedding_q4gsw", {"128256x2048.2047_rows.float16"}},
  };
  for (const SignatureInfo& op : generated::q8ta_unary::signatures) rows.push_back({op.name, {kBlocks}});
  return rows;
}

bool is_selected(const std::vector<Selected>& list, const Row& row) {
  return std::ranges::any_of(list, [&](const Selected& of_op) {
    return of_op.op == row.op && std::ranges::find(of_op.sizes, row.size) != of_op.sizes.end();
  });
}

}  // namespace

std::vector<Row> short_rows() {
  const std::vector<Selected> list = selected();
  std::vector<Row> rows = operator_rows();
  std::erase_if(rows, [&](const Row& row) { return !is_selected(list, row); });
  return rows;
}

namespace {

// Whether two problems are one to the selector: of operators that run the same kernels and differ in what those compute
// alone, as unary functions by their tables.
bool are_one(const tuner::Task& a, const tuner::Task& b) {
  const OperatorInfo& op = *find_operator(operators(), a.op)->op;
  const auto says_which = [](const FieldInfo& field) { return !field.words.empty(); };
  return &op == find_operator(operators(), b.op)->op && std::ranges::none_of(op.fields, says_which) && a.op != b.op &&
         a.request.shapes == b.request.shapes && a.request.layouts == b.request.layouts;
}

}  // namespace

std::string problems_text(const std::vector<Row>& rows) {
  std::vector<tuner::Task> tasks;
  for (const Row& row : rows) {
    const tuner::Task task{row.op, row.chosen.request};
    const bool is_covered = std::ranges::any_of(tasks, [&](const tuner::Task& other) { return are_one(task, other); });
    if (!is_covered) tasks.push_back(task);
  }
  return "# Made by `operators_bench --short --problems`: what qgen-tune tunes where no other problems are named.\n" +
         tuner::to_yaml(tasks);
}

std::vector<std::string> names_without_rows() {
  const std::vector<Row> rows = operator_rows();
  std::vector<std::string> missing;
  for (const auto& [op, sizes] : selected()) {
    for (const std::string_view size : sizes) {
      const bool is_there = std::ranges::any_of(rows, [&](const Row& row) { return row.op == op && row.size == size; });
      if (!is_there) missing.push_back(fmt::format("{}/{}", op, size));
    }
  }
  return missing;
}

}  // namespace qgen::bench
