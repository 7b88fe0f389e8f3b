// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small graphs and the whole plan of each, or the error.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <ostream>

#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/agreeing.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/forms.h"

namespace qgen::planner {
namespace {

using namespace testing;

struct Case {
  std::string_view name;
  Graph graph;
  std::string_view expected;
  DeviceModel device = {};
  ConversionCost conversion = copy_cost();
  RepresentationSet never_made = {};  // to which no conversion leads
};

// clang-format off
const Case kCases[] = {
    // A broadcast add of 4W4C with 4C1W into 4C1W: four channels to a word on all sides, so nothing is converted.
    {"add_of_4w4c_and_4c1w",
     {{{"tiles", {1, 32, 28, 28}, i8, k4W4C}, {"bias", {1, 32, 1, 1}, i8, k4C1W}, {"sum", {1, 32, 28, 28}, i8, {}, k4C1W}},
      {{"add", "q8ta_add", {"tiles", "bias"}, {"sum"}, agreeing({"words", {kWords, kWords, kWords}, 7}, {{0, 1, 2}})}}},
     R"(
add (words packed_4c): buffer.packed_4w4c, buffer.packed_4c1w -> buffer.packed_4c1w
7 us
)"},
    // The same add of 4W4C with 4W: a word holds channels there and columns here, so the smaller operand is converted.
    {"add_of_4w4c_and_4w",
     {{{"tiles", {1, 32, 28, 28}, i8, k4W4C}, {"bias", {1, 32, 1, 1}, i8, k4W}, {"sum", {1, 32, 28, 28}, i8, {}, k4C1W}},
      {{"add", "q8ta_add", {"tiles", "bias"}, {"sum"}, agreeing({"words", {kWords, kWords, kWords}, 7}, {{0, 1, 2}})}}},
     R"(
add (words packed_4c): buffer.packed_4w4c, buffer.packed_4c -> buffer.packed_4c1w
bias: buffer.packed_4w -> buffer.packed_4c, 5.0016 us
12.0016 us
)"},
    // A chain: the last layer decides in which blocks the first one writes, since relu accepts any.
    {"chain",
     {{{"image", {1, 64, 56, 56}, f32, kStrided}, {"q", {1, 64, 56, 56}, i8}, {"middle", {1, 64, 56, 56}, i8},
       {"last", {1, 64, 56, 56}, i8, {}, k4C1W}},
      {{"quantize", "q8ta_quantize", {"image"}, {"q"}, {{"any_words", {kStrided, kWords}, 9}}},
       {"relu", "q8ta_relu", {"q"}, {"middle"}, agreeing({"same_words", {kWords, kWords}, 6}, {{0, 1}})},
       {"conv", "q8ta_conv2d_pw", {"middle"}, {"last"}, {{"tiles", {k4W4C, {k4W4C, k4C, k4C1W}}, 20}}}}},
     R"(
conv (tiles): buffer.packed_4w4c -> buffer.packed_4c1w
quantize (any_words): buffer.strided -> buffer.packed_4c
relu (same_words packed_4c): buffer.packed_4c -> buffer.packed_4w4c
35 us
)"},
    // One channel in words of four is three quarters padding. Both readers want other words: the second copy is made
    // from the first, which has a quarter of the bytes.
    {"copy_of_a_copy",
     {{{"x", {1, 1, 64, 64}, i8, k4C}, {"a", {1, 1, 64, 64}, i8}, {"b", {1, 1, 64, 64}, i8}},
      {{"rows", "f", {"x"}, {"a"}, {{"rows", {k4W, k4W}, 3}}},
       {"blocks", "g", {"x"}, {"b"}, {{"blocks", {k4H4W, k4H4W}, 3}}}}},
     R"(
blocks (blocks): buffer.packed_4h4w -> buffer.packed_4h4w
rows (rows): buffer.packed_4w -> buffer.packed_4w
x: buffer.packed_4c -> buffer.packed_4w, 22.48 us
x: buffer.packed_4w -> buffer.packed_4h4w, 10.192 us
38.672 us
)",
     {}, copy_cost(1000, 2)},
    // A diamond: each branch prefers its own blocks. The join accepts any two of one packed dimension, so one
    // conversion is enough, at the smallest tensor.
    {"diamond",
     {{{"x", {1, 64, 56, 56}, i8, k4W4C}, {"wide", {1, 256, 56, 56}, i8}, {"rows", {1, 256, 56, 56}, i8},
       {"sum", {1, 256, 56, 56}, i8}},
      {{"widen", "q8ta_conv2d_pw", {"x"}, {"wide"}, {{"tiles", {k4W4C, {k4W4C, k4C1W}}, 30}}},
       {"unfold", "unfold_rows", {"x"}, {"rows"},
        {{"by_rows", {k4W, {k4W, k4H4W}}, 12}, {"by_channels", {k4C, k4C}, 16}}},
       {"join", "q8ta_add", {"wide", "rows"}, {"sum"}, agreeing({"words", {kWords, kWords, kWords}, 11}, {{0, 1, 2}})}}},
     R"(
join (words packed_4c): buffer.packed_4w4c, buffer.packed_4c -> buffer.packed_4c
unfold (by_channels): buffer.packed_4c -> buffer.packed_4c
widen (tiles): buffer.packed_4w4c -> buffer.packed_4w4c
x: buffer.packed_4w4c -> buffer.packed_4c, 9.01408 us
66.0141 us
)"},
    // The first operator's more expensive kernel makes the graph cheaper: three operators later its words are those
    // that are read.
    {"look_ahead",
     {{{"x", {1, 64, 28, 28}, i8, k4W}, {"a", {1, 64, 28, 28}, i8}, {"b", {1, 64, 28, 28}, i8},
       {"c", {1, 64, 28, 28}, i8}, {"d", {1, 64, 28, 28}, i8}},
      {{"first", "f", {"x"}, {"a"}, {{"near", {k4W, k4W}, 5}, {"far", {k4W, k4C}, 8}}},
       {"relu1", "relu", {"a"}, {"b"}, agreeing({"words", {kWords, kWords}, 5}, {{0, 1}})},
       {"relu2", "relu", {"b"}, {"c"}, agreeing({"words", {kWords, kWords}, 5}, {{0, 1}})},
       {"last", "g", {"c"}, {"d"}, {{"tiles", {k4W4C, k4W4C}, 5}, {"words", {k4C, k4C}, 6}}}}},
     R"(
first (far): buffer.packed_4w -> buffer.packed_4c
last (tiles): buffer.packed_4w4c -> buffer.packed_4w4c
relu1 (words packed_4c): buffer.packed_4c -> buffer.packed_4c
relu2 (words packed_4c): buffer.packed_4c -> buffer.packed_4w4c
23 us
)"},
    // An operator that no representation satisfies: its only kernel for floats reads an image that the device cannot
    // hold.
    {"no_kernel_fits",
     {{{"x", {1, 8, 64, 4096}, f32}, {"y", {1, 8, 64, 4096}, f32}, {"z", {1, 8, 64, 4096}, f32}},
      {{"load", "load", {}, {"x"}, {{"plain", {kStrided}, 1}}},
       {"blur", "blur", {"x"}, {"y"}, {{"rows", {kChannels, kChannels}, 5}, {"blocks", {k4C, kStrided}, 5}}},
       {"store", "store", {"y"}, {"z"}, {{"plain", {kAny, kStrided}, 1}}}}},
     R"(
no kernel of 'blur' (blur) accepts its operands
  blocks reads 'x' as buffer.packed_4c, which is not possible here
  rows reads 'x' as texture3d.channels_packed, which is not possible here
  'x' (f32 [1, 8, 64, 4096]) is written as buffer.strided by 'load' (load)
    not as texture3d.channels_packed: 4096 texels exceed the device's limit of 2048 for the image width
    not as buffer.packed_4c: holds 8-bit integers, not f32
  'y' (f32 [1, 8, 64, 4096]) can be held as buffer.strided or texture3d.width_packed
    not as texture3d.channels_packed: 4096 texels exceed the device's limit of 2048 for the image width
  hint: add a kernel for these representations, or give the tensors a shape that the device can hold
)",
     {.image_extent = {2048, 2048, 2048}}},
    // Both operators can run, but not together: no conversion leads from the one's output to the other's input.
    {"no_way_between",
     {{{"a", {64, 64}, i8, k4W}, {"b", {64, 64}, i8}, {"c", {64, 64}, i8}},
      {{"rows", "q8ta_linear", {"a"}, {"b"}, {{"tiles", {k4W, {k4W, k4H4W}}, 5}}},
       {"channels", "q8ta_conv2d", {"b"}, {"c"}, {{"tiles", {k4W4C, k4W4C}, 5}}}}},
     R"(
no representations satisfy 'channels' (q8ta_conv2d) and the operators before it
  'b' is written by 'rows' as buffer.packed_4w or buffer.packed_4h4w; 'channels' accepts it as buffer.packed_4w4c
  hint: allow a conversion between these representations, or add a kernel that accepts one and gives another
)",
     {}, copy_cost(), k4W4C},
    // Three readers of one form: converted once. The fourth reads the written tensor.
    {"one_copy_for_all",
     {{{"x", {1, 16, 32, 32}, i8, k4C}, {"a", {1, 16, 32, 32}, i8}, {"b", {1, 16, 32, 32}, i8},
       {"c", {1, 16, 32, 32}, i8}, {"d", {1, 16, 32, 32}, i8}},
      {{"first", "f", {"x"}, {"a"}, {{"rows", {k4W, k4W}, 3}}},
       {"second", "f", {"x"}, {"b"}, {{"rows", {k4W, k4W}, 3}}},
       {"third", "f", {"x"}, {"c"}, {{"rows", {k4W, k4W}, 3}}},
       {"fourth", "g", {"x"}, {"d"}, {{"words", {k4C, k4C}, 3}}}}},
     R"(
first (rows): buffer.packed_4w -> buffer.packed_4w
fourth (words): buffer.packed_4c -> buffer.packed_4c
second (rows): buffer.packed_4w -> buffer.packed_4w
third (rows): buffer.packed_4w -> buffer.packed_4w
x: buffer.packed_4c -> buffer.packed_4w, 5.32768 us
17.3277 us
)"},
    // Five dimensions: no texture, whatever it would save. Buffers take up to eight.
    {"rank_five",
     {{{"x", {2, 4, 3, 16, 16}, f32, kStrided}, {"y", {2, 4, 3, 16, 16}, i8}},
      {{"quantize", "q8ta_quantize", {"x"}, {"y"},
        {{"plain", {kStrided, k4W}, 30}, {"texels", {kChannels, k4C}, 4}}}}},
     R"(
quantize (plain): buffer.strided -> buffer.packed_4w
30 us
)"},
    // Textures would be faster, but 20,000 columns are more than an image has texels; packed by width they are 5,000.
    {"texture_too_wide",
     {{{"x", {1, 3, 16, 20000}, f32, kStrided}, {"y", {1, 3, 16, 20000}, f32, {}, kStrided}},
      {{"blur", "blur", {"x"}, {"y"},
        {{"channels", {kChannels, kChannels}, 40}, {"columns", {kWidth, kWidth}, 90},
         {"plain", {kStrided, kStrided}, 900}}}}},
     R"(
blur (columns): texture3d.width_packed -> texture3d.width_packed
x: buffer.strided -> texture3d.width_packed, 158.6 us
y: texture3d.width_packed -> buffer.strided, 158.6 us
407.2 us
)",
     {.image_extent = {16384, 16384, 2048}}, copy_cost(50000)},
    // Two outputs in two layouts, each read as it is written; an operand that is read twice is converted once.
    {"two_outputs",
     {{{"x", {8, 32}, i8, k4W}, {"lo", {8, 32}, i8}, {"hi", {8, 32}, i8}, {"y", {8, 32}, i8}, {"z", {8, 32}, i8}},
      {{"split", "split", {"x"}, {"lo", "hi"}, {{"halves", {k4W, {k4W, k4H4W}, k4C}, 4}}},
       {"square", "q8ta_mul", {"lo", "lo"}, {"y"}, {{"tiles", {k4H4W, k4H4W, k4H4W}, 4}}},
       {"twice", "q8ta_add", {"hi", "hi"}, {"z"}, agreeing({"rows", {k4W, k4W, k4W}, 4}, {{0, 1, 2}})}}},
     R"(
split (halves): buffer.packed_4w -> buffer.packed_4h4w, buffer.packed_4c
square (tiles): buffer.packed_4h4w, buffer.packed_4h4w -> buffer.packed_4h4w
twice (rows packed_4w): buffer.packed_4w, buffer.packed_4w -> buffer.packed_4w
hi: buffer.packed_4c -> buffer.packed_4w, 5.0128 us
17.0128 us
)"},
};
// clang-format on

std::string joined_names(std::span<const Representation> list) {
  std::vector<std::string> all;
  for (Representation r : list) all.push_back(name(r));
  return fmt::format("{}", fmt::join(all, ", "));
}

// Operators with their kernels, then conversions, each at its cost, then the time of all.
std::string plan_text(const Case& row) {
  const auto cost = [&](const Tensor& tensor, Representation from, Representation to) {
    return row.never_made.contains(to) ? std::nullopt : row.conversion(tensor, from, to);
  };
  const auto planned = plan(row.graph, row.device, cost);
  if (!planned) return fmt::format("\n{}\n", to_text(planned.error()));
  EXPECT_TRUE(planned->is_optimal());
  std::string text = "\n";
  for (const PlannedNode& node : planned->nodes) {
    const size_t inputs = std::ranges::find(row.graph.nodes, node.name, &Node::name)->inputs.size();
    const std::span takes(node.takes);
    text += fmt::format("{} ({}): {} -> {}\n", node.name.text, node.kernel.text, joined_names(takes.first(inputs)),
                        joined_names(takes.subspan(inputs)));
  }
  for (const Conversion& made : planned->conversions) {
    const Tensor& tensor = *std::ranges::find(row.graph.tensors, made.tensor, &Tensor::name);
    text += fmt::format("{}: {} -> {}, {:.6g} us\n", made.tensor.text, name(made.from), name(made.to),
                        *cost(tensor, made.from, made.to));
  }
  return text + fmt::format("{:.6g} us\n", planned->cost_us);
}

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

class PlanTable : public ::testing::TestWithParam<Case> {};

TEST_P(PlanTable, IsAsItsRowSays) { EXPECT_EQ(plan_text(GetParam()), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(All, PlanTable, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace qgen::planner
