// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Int8 tensors in packed layouts: to them, from them, between them, and element by element.
#include <fmt/format.h>

#include "bench/family.h"
#include "q8ta_unary.h"
#include "runtime/engine/library/signature_info.h"

namespace qgen::bench {
namespace {

// The sizes that ExecuTorch's own benchmarks of int8 operators have, and one that fills a large device.
constexpr std::string_view kImages[] = {"1x64x128x128", "1x32x64x64", "1x128x56x56", "1x128x128x128", "8x256x128x128"};

constexpr std::string_view kPackedLayouts[] = {"packed_4w", "packed_4c", "packed_4w4c", "packed_4h4w", "packed_4c1w"};

void add_clone(std::vector<Row>& rows, std::string_view image, std::string_view from, std::string_view to) {
  rows.push_back(in_layouts("q8ta_clone", image, {fmt::format("input={}:i8", image)}, {},
                            {fmt::format("input={}", from), fmt::format("output={}", to)}));
}

// From floating-point buffers and textures to each layout, and back; from each to plain int8 buffers.
void add_moves(std::vector<Row>& rows, std::string_view image) {
  const Texts reals = {fmt::format("input={}:f32", image)}, bytes = {fmt::format("input={}:i8", image)};
  for (const std::string_view layout : kPackedLayouts) {
    const std::string in = fmt::format("input={}", layout), out = fmt::format("output={}", layout);
    rows.push_back(in_layouts("q8ta_quantize", image, reals, kOutput, {out}));
    rows.push_back(in_layouts("q8ta_quantize", image, reals, kOutput, {"input=channels_packed", out}));
    rows.push_back(in_layouts("q8ta_quantize_linear", image, reals, kOutput, {out}));
    rows.push_back(in_layouts("q8ta_dequantize", image, bytes, kInput, {in}));
    rows.push_back(in_layouts("q8ta_dequantize", image, bytes, kInput, {in, "output=channels_packed"}));
    add_clone(rows, image, layout, "strided");
  }
  add_clone(rows, image, "packed_4w4c", "packed_4c1w");
}

void add_clones_of_all_pairs(std::vector<Row>& rows) {
  for (const std::string_view from : kPackedLayouts) {
    for (const std::string_view to : kPackedLayouts) add_clone(rows, "1x16x256x256", from, to);
  }
}

// From 127 for -128 down to -128 for 127.
std::string falling_table() {
  std::string text = "table=127";
  for (int result = 126; result >= -128; --result) text += fmt::format(",{}", result);
  return text;
}

void add_elementwise(std::vector<Row>& rows, std::string_view image) {
  const Texts one = {fmt::format("input={}:i8", image)}, two = joined(one, {fmt::format("other={}:i8", image)});
  for (const SignatureInfo& op : generated::q8ta_unary::signatures) {
    const bool is_table = op.name == "q8ta_table";  // its results are given, and no scales
    rows.push_back(in_layouts(std::string(op.name), image, one,
                              is_table ? Texts{falling_table()} : joined(kInput, kOutput),
                              {"input=packed_4w4c", "output=packed_4w4c"}, ".flat0"));
  }
  rows.push_back(in_layouts("q8ta_relu", image, one, joined(kInput, kOutput), {"input=packed_4w4c", "output=packed_4w"},
                            ".flat0"));
  for (const std::string op : {"q8ta_add", "q8ta_sub", "q8ta_mul"}) {
    rows.push_back(in_layouts(op, image, two, joined(joined(kInput, kOther), kOutput),
                              {"input=packed_4w4c", "other=packed_4w4c", "output=packed_4w4c"}, ".flat0"));
  }
  rows.push_back(in_layouts("q8ta_add", image, two, joined(joined(kInput, kOther), kOutput),
                            {"input=packed_4w4c", "other=packed_4c1w", "output=packed_4c1w"}, ".flat0"));
}

void add_packed(std::vector<Row>& rows) {
  for (const std::string_view image : kImages) {
    add_moves(rows, image);
    add_elementwise(rows, image);
  }
  add_clones_of_all_pairs(rows);
  for (const std::string_view image : {"1x96x16x9", "1x96x32x18", "1x96x64x36", "1x96x128x72"}) {
    rows.push_back(in_layouts("q8ta_pixel_shuffle", image, {fmt::format("input={}:i8", image)}, joined(kInput, kOutput),
                              {"input=packed_4w4c", "output=packed_4w4c"}));
  }
}

// Of four branches of a network, and of two whose channels fill no block.
void add_concats(std::vector<Row>& rows) {
  const Texts two = {"input_1_scale=0.04", "input_2_scale=0.02", "output_scale=0.05"};
  const Texts four = joined(two, {"input_3_scale=0.03", "input_4_scale=0.05"});
  for (const std::string_view layout : {"packed_4c", "packed_4w4c"}) {
    const auto in = [&](std::initializer_list<const char*> operands) {
      Texts layouts;
      for (const char* operand : operands) layouts.push_back(fmt::format("{}={}", operand, layout));
      return layouts;
    };
    rows.push_back(in_layouts(
        "q8ta_concat", "8x64_128_32_32x64x64",
        {"input_1=8x64x64x64:i8", "input_2=8x128x64x64:i8", "input_3=8x32x64x64:i8", "input_4=8x32x64x64:i8"}, four,
        in({"input_1", "input_2", "input_3", "input_4", "output"})));
    rows.push_back(in_layouts("q8ta_concat", "8x126_130x128x128",
                              {"input_1=8x126x128x128:i8", "input_2=8x130x128x128:i8"}, two,
                              in({"input_1", "input_2", "output"})));
  }
}

constexpr std::string_view kBlocks = "8x256x128x128.packed_4w4c.packed_4w4c";
constexpr std::string_view kThreeBlocks = "8x256x128x128.packed_4w4c.packed_4w4c.packed_4w4c";

}  // namespace

Family packed_family() {
  Family family;
  add_packed(family.rows);
  add_concats(family.rows);
  family.short_sizes = {
      {"q8ta_quantize", {"8x256x128x128.packed_4w4c"}},
      {"q8ta_quantize_linear", {"8x256x128x128.packed_4w4c"}},
      {"q8ta_dequantize", {"8x256x128x128.packed_4w4c"}},
      {"q8ta_clone", {"8x256x128x128.packed_4w4c.strided", "8x256x128x128.packed_4w4c.packed_4c1w"}},
      {"q8ta_add", {kThreeBlocks, "8x256x128x128.packed_4w4c.packed_4c1w.packed_4c1w"}},
      {"q8ta_sub", {kThreeBlocks}},
      {"q8ta_mul", {kThreeBlocks}},
      {"q8ta_pixel_shuffle", {"1x96x128x72.packed_4w4c.packed_4w4c"}},
      {"q8ta_concat",
       {"8x64_128_32_32x64x64.packed_4w4c.packed_4w4c.packed_4w4c.packed_4w4c.packed_4w4c",
        "8x126_130x128x128.packed_4w4c.packed_4w4c.packed_4w4c"}},
  };
  for (const SignatureInfo& op : generated::q8ta_unary::signatures) family.short_sizes.push_back({op.name, {kBlocks}});
  return family;
}

}  // namespace qgen::bench
