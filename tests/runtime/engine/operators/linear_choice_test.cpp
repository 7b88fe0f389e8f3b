// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which recipes of linear layers are chosen untuned, on a device that is only described: an H200. Few rows are products
// with a vector, many are products of matrices. Which kernels, and how good they are, bench/quality says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

TensorDesc reals(const Shape& shape) { return {DType::f32, shape}; }

// "coopmat" of "q8ta_linear.coopmat(...)".
std::string recipe_of(const Expected<Call>& call) {
  static const KernelLibrary library = *KernelLibrary::open(generated::library());
  if (!call) return to_text(call.error());
  const Selection selection = select(call->problem, testing::h200(), library, {.best_only = true});
  if (selection.ranked.empty()) return explain(selection);
  const std::string& id = selection.ranked.front().id;
  return id.substr(id.find('.') + 1, id.find('(') - id.find('.') - 1);
}

// Of int8 and of rows quantized on the way: whether its sums are of cooperative matrices.
bool has_matrices(std::string_view recipe) {
  return recipe.starts_with("coopmat") || recipe.starts_with("matrices") || recipe == "sliced_k";
}

struct ChoiceCase {
  int64_t m, n, k;
  bool has_matrices;  // else it is "gemv"
};

TEST(LinearChoice, OfInt8) {
  constexpr ChoiceCase kChoices[] = {
      {1, 4096, 4096, false},   {1, 14336, 4096, false},  {1, 4096, 14336, false},  {128, 4096, 4096, true},
      {512, 14336, 4096, true}, {512, 4096, 14336, true}, {4096, 4096, 4096, true},
  };
  for (const ChoiceCase& row : kChoices) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", row.m, row.n, row.k));
    TensorDesc weight{DType::i8, {row.n, row.k}, Storage::buffer, Layout::weight_q8_4k4n};
    weight.other_layouts = 1U << static_cast<unsigned>(Layout::weight_q8_rows);
    const TensorDesc input{DType::i8, {row.m, row.k}};
    const std::string recipe =
        recipe_of(q8ta_linear_call({.input = input, .weight = weight, .weight_scales = reals({row.n})},
                                   {.input_scale = 0.1F, .output_scale = 1.0F}));
    EXPECT_TRUE(row.has_matrices ? has_matrices(recipe) : recipe == "gemv") << recipe;
  }
}

// Of halves, with int4 weights in groups of 128 or int8 with a scale a row.
TEST(LinearChoice, OfHalves) {
  struct HalvesCase {
    int64_t m, n, k;
    std::string_view int4, int8;  // how the recipes' names begin
  };
  constexpr HalvesCase kChoices[] = {
      {1, 4096, 4096, "fragments", "fragments"},  {1, 14336, 4096, "row", "gemv"},
      {2, 4096, 4096, "fragments", "fragments"},  {8, 4096, 4096, "fragments", "fragments"},
      {64, 4096, 4096, "matrices", "matrices"},   {512, 14336, 4096, "matrices", "matrices"},
      {4096, 4096, 4096, "matrices", "matrices"},
  };
  for (const HalvesCase& c : kChoices) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", c.m, c.n, c.k));
    const TensorDesc input{DType::f16, {c.m, c.k}};
    const auto weight = [&](Layout layout) { return TensorDesc{DType::i8, {c.n, c.k}, Storage::buffer, layout}; };
    const std::string int4 = recipe_of(linear_q4gsw_call(
        {.input = input, .weight = weight(Layout::weight_q4_rows), .weight_scales = reals({c.n, c.k / 128})}));
    EXPECT_TRUE(int4.starts_with(c.int4)) << int4;
    const std::string int8 = recipe_of(
        linear_q8csw_call({.input = input, .weight = weight(Layout::weight_q8_rows), .weight_scales = reals({c.n})}));
    EXPECT_TRUE(int8.starts_with(c.int8)) << int8;
  }
}

TEST(LinearChoice, OfRowsQuantizedOnTheWay) {
  const auto recipe_for = [&](int bits, int64_t m) {
    const TensorDesc input{DType::f16, {m, 4096}};
    const TensorDesc weight{
        DType::i8, {4096, 4096}, Storage::buffer, bits == 4 ? Layout::weight_q4_rows : Layout::weight_q8_rows};
    return recipe_of(
        bits == 4 ? linear_dq8ca_q4gsw_call({.input = input, .weight = weight, .weight_scales = reals({4096, 32})})
                  : linear_dq8ca_q8csw_call({.input = input, .weight = weight, .weight_scales = reals({4096})}));
  };
  for (const int bits : {4, 8}) {
    EXPECT_EQ(recipe_for(bits, 1), "row") << bits;
    for (const int64_t m : {8, 16}) EXPECT_EQ(recipe_for(bits, m), "fragments") << bits;
    for (const int64_t m : {64, 512, 4096}) EXPECT_TRUE(has_matrices(recipe_for(bits, m))) << recipe_for(bits, m);
  }
}

// f32 has no matrices.
TEST(LinearChoice, OfFloats) {
  const auto recipe_for = [&](int64_t m) {
    const TensorDesc weight{DType::i8, {4096, 4096}, Storage::buffer, Layout::weight_q4_rows};
    return recipe_of(
        linear_q4gsw_call({.input = reals({m, 4096}), .weight = weight, .weight_scales = reals({4096, 32})}));
  };
  EXPECT_EQ(recipe_for(1), "gemv");
  EXPECT_EQ(recipe_for(4096), "tiled");
}

}  // namespace
}  // namespace qgen
