// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which kernels of linear layers are chosen untuned, on a device that is only described: an H200. What such a choice is
// worth is known of the problems that were measured; the others say how choices go with the rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "operators.h"
#include "registry.h"
#include "runtime/tuning/tuning_file.h"
#include "tests/runtime/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

// ---- beside what was measured ---------------------------------------------------------------------------------------

using Rows = std::vector<tuning::TunedRow>;

// The rows of each problem of an operator of linear layers.
std::map<std::string, Rows> measured_linear_layers(const std::string& file) {
  const auto table = tuning::load_tuning_file(tests::source_folder() + file);
  if (!table) return {};
  std::map<std::string, Rows> problems;
  for (const tuning::TunedRow& row : tuning::comparable(table->rows)) {
    if (operator_of(row.problem).find("linear") != std::string_view::npos) problems[row.problem].push_back(row);
  }
  return problems;
}

struct MeasuredTable {
  const char* file;
  double least_mean, least;  // of the best time over that of the choice
};

class MeasuredLinearLayers : public ::testing::TestWithParam<MeasuredTable> {};

INSTANTIATE_TEST_SUITE_P(, MeasuredLinearLayers,
                         ::testing::Values(MeasuredTable{"/tuning/nvidia-h200.yaml", 0.97, 0.73},
                                           MeasuredTable{"/bench/held_out/nvidia-h200.yaml", 0.94, 0.67}));

// A choice that nobody timed says nothing.
TEST_P(MeasuredLinearLayers, HaveChoicesNextToTheBest) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const DeviceProfile device = testing::h200();
  const auto problems = measured_linear_layers(GetParam().file);
  ASSERT_GT(problems.size(), 80u);
  size_t compared = 0, with_time = 0;
  double logs = 0;
  std::string changed;
  for (const auto& [key, rows] : problems) {
    SCOPED_TRACE(key);
    const auto problem = problem_of(key, *library);
    ASSERT_TRUE(problem) << to_text(problem.error());
    const Selection selection = select(*problem, device, *library, {.best_only = true});
    ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
    const std::string& id = selection.ranked.front().id;
    const auto chosen = std::ranges::find(rows, id, &tuning::TunedRow::kernel);
    const auto best = std::ranges::min_element(rows, {}, &tuning::TunedRow::us);
    if (chosen == rows.end()) continue;
    for (const auto& row : {*chosen, *best}) {
      ++compared;
      if (digest_of(*problem->op, row.kernel, *library) != row.digest) changed.append("\n  ").append(row.kernel);
    }
    ++with_time;
    logs += std::log(best->us / chosen->us);
    EXPECT_GE(best->us / chosen->us, GetParam().least) << id << " is chosen, and the best is " << best->kernel;
  }
  EXPECT_GE(with_time, problems.size() * 9 / 10) << "qgen-tune measures what is chosen now";
  EXPECT_GE(std::exp(logs / static_cast<double>(with_time)), GetParam().least_mean);
  // Another version of the compiler changes all of them.
  const auto count = static_cast<size_t>(std::ranges::count(changed, '\n'));
  EXPECT_TRUE(count == 0 || count == compared)
      << "these have changed since they were measured, and qgen-tune measures them anew:" << changed;
}

// ---- by rows --------------------------------------------------------------------------------------------------------

TensorDesc reals(const Shape& shape) { return {DType::f32, shape}; }

struct ChoiceCase {
  int64_t m, n, k;
  std::string_view recipe;
  std::string_view kernel;  // of the recipe's family, and its other steps
};

constexpr ChoiceCase kChoices[] = {
    {1, 4096, 4096, "gemv", "strided.i8.strided.is_aligned.rows1.subgroup.packed/workgroup128team128.unroll1"},
    {1, 14336, 4096, "gemv", "strided.i8.strided.is_aligned.rows1.subgroup.packed/workgroup64team32.unroll1"},
    {1, 4096, 14336, "gemv", "strided.i8.strided.is_aligned.rows1.subgroup.packed/workgroup128team128.unroll1"},
    {4, 4096, 4096, "gemv", "strided.i8.strided.is_aligned.rows4.subgroup.packed/workgroup128team128.unroll1"},
    {8, 4096, 4096, "gemv", "strided.i8.strided.is_aligned.rows8.subgroup.packed/workgroup128team128.unroll1"},
    {16, 4096, 4096, "coopmat_split",
     "m16n16k32.strided.i32.strided.is_aligned/m1n4workgroup128.m1n2.step128, q8_linear_finish.i8.strided/"
     "workgroup128"},
    {64, 4096, 4096, "coopmat", "m16n8k32.strided.i8.strided.is_aligned/m2n4workgroup256.m1n2.step128"},
    {128, 4096, 4096, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n2workgroup128.m2n2.step128"},
    {256, 4096, 4096, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n4workgroup256.m2n2.step128"},
    {512, 14336, 4096, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n4workgroup256.m4n2.step128"},
    {512, 4096, 14336, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n4workgroup256.m4n2.step128"},
    {1024, 4096, 4096, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n4workgroup256.m4n2.step128"},
    {4096, 4096, 4096, "coopmat", "m16n16k32.strided.i8.strided.is_aligned/m2n4workgroup256.m4n2.step128"},
};

TEST(LinearChoice, OfInt8) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const DeviceProfile device = testing::h200();
  for (const ChoiceCase& row : kChoices) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", row.m, row.n, row.k));
    TensorDesc weight{DType::i8, {row.n, row.k}, Storage::buffer, Layout::weight_q8_4k4n};
    weight.other_layouts = 1U << static_cast<unsigned>(Layout::weight_q8_rows);
    const TensorDesc input{DType::i8, {row.m, row.k}};
    const auto call = q8ta_linear_call({.input = input, .weight = weight, .weight_scales = reals({row.n})},
                                       {.input_scale = 0.1F, .output_scale = 1.0F});
    ASSERT_TRUE(call) << to_text(call.error());
    const Selection selection = select(call->problem, device, *library, {});
    ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
    EXPECT_EQ(selection.ranked.front().id, fmt::format("q8ta_linear.{}(q8_linear_{}.{})", row.recipe,
                                                       row.recipe.substr(0, row.recipe.find('_')), row.kernel));
  }
}

// Of halves, with int4 weights in groups of 128 or int8 with a scale a row.
struct HalfCase {
  int bits;
  int64_t m, n, k;
  std::string_view recipe, tile;
};

constexpr HalfCase kHalves[] = {
    {4, 1, 4096, 4096, "gemv", "rows1.subgroup.native/workgroup128team128.columns8"},
    {4, 4, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m1n2.step64"},
    {4, 8, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m1n2.step64"},
    {4, 16, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m1n2.step64"},
    {4, 128, 4096, 4096, "matrices_split_4", "/m2n4workgroup256.m4n2.step64"},
    {4, 256, 4096, 4096, "matrices_split_4", "/m2n4workgroup256.m4n2.step64"},
    {4, 512, 4096, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {4, 4096, 4096, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {4, 512, 14336, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {8, 1, 4096, 4096, "gemv", "rows1.subgroup.native/workgroup128team128.columns8"},
    {8, 4, 4096, 4096, "gemv", "rows4.subgroup.native/workgroup128team128.columns8"},
    {8, 8, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m1n2.step64"},
    {8, 16, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m1n2.step64"},
    {8, 64, 4096, 4096, "matrices_split_4", "/m1n4workgroup128.m4n2.step64"},
    {8, 128, 4096, 4096, "matrices_split_4", "/m2n4workgroup256.m4n2.step64"},
    {8, 256, 4096, 4096, "matrices_split_4", "/m2n4workgroup256.m4n2.step64"},
    {8, 512, 4096, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {8, 1024, 4096, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {8, 4096, 4096, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
    {8, 512, 14336, 4096, "matrices", "/m2n4workgroup256.m4n2.step64"},
};

TEST(LinearChoice, OfHalves) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const DeviceProfile device = testing::h200();
  for (const HalfCase& c : kHalves) {
    SCOPED_TRACE(fmt::format("{} bits, {} x {} x {}", c.bits, c.m, c.n, c.k));
    const TensorDesc input{DType::f16, {c.m, c.k}};
    const auto weight = [&](Layout layout) { return TensorDesc{DType::i8, {c.n, c.k}, Storage::buffer, layout}; };
    const auto call =
        c.bits == 4
            ? linear_q4gsw_call(
                  {.input = input, .weight = weight(Layout::weight_q4_rows), .weight_scales = reals({c.n, c.k / 128})})
            : linear_q8csw_call(
                  {.input = input, .weight = weight(Layout::weight_q8_rows), .weight_scales = reals({c.n})});
    ASSERT_TRUE(call) << to_text(call.error());
    const Selection selection = select(call->problem, device, *library, {.best_only = true});
    ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
    const std::string& id = selection.ranked.front().id;
    EXPECT_TRUE(id.find(fmt::format(".{}(", c.recipe)) != id.npos && id.find(c.tile) != id.npos) << id;
  }
}

TEST(LinearChoice, OfRowsQuantizedOnTheWay) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const DeviceProfile device = testing::h200();
  const auto recipe_for = [&](int bits, int64_t m) {
    const TensorDesc input{DType::f16, {m, 4096}};
    const TensorDesc weight{
        DType::i8, {4096, 4096}, Storage::buffer, bits == 4 ? Layout::weight_q4_rows : Layout::weight_q8_rows};
    const auto call =
        bits == 4 ? linear_dq8ca_q4gsw_call({.input = input, .weight = weight, .weight_scales = reals({4096, 32})})
                  : linear_dq8ca_q8csw_call({.input = input, .weight = weight, .weight_scales = reals({4096})});
    const Selection selection = select(call->problem, device, *library, {.best_only = true});
    const std::string& id = selection.ranked.front().id;
    return id.substr(id.find('.') + 1, id.find('(') - id.find('.') - 1);
  };
  EXPECT_EQ(recipe_for(8, 1), "gemv");
  EXPECT_EQ(recipe_for(8, 16), "matrices");
  EXPECT_EQ(recipe_for(8, 4096), "matrices");
  EXPECT_EQ(recipe_for(4, 1), "gemv");
  EXPECT_EQ(recipe_for(4, 16), "matrices");
  EXPECT_EQ(recipe_for(4, 64), "matrices");
  EXPECT_EQ(recipe_for(4, 512), "matrices");
  EXPECT_EQ(recipe_for(4, 4096), "matrices");
}

// f32 has no matrices.
TEST(LinearChoice, OfFloats) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const DeviceProfile device = testing::h200();
  const auto recipe_for = [&](int64_t m) {
    const TensorDesc weight{DType::i8, {4096, 4096}, Storage::buffer, Layout::weight_q4_rows};
    const auto call =
        linear_q4gsw_call({.input = reals({m, 4096}), .weight = weight, .weight_scales = reals({4096, 32})});
    const Selection selection = select(call->problem, device, *library, {.best_only = true});
    return selection.ranked.front().id.substr(0, selection.ranked.front().id.find('('));
  };
  EXPECT_EQ(recipe_for(1), "linear_q4gsw.gemv");
  EXPECT_EQ(recipe_for(256), "linear_q4gsw.split_4");
  EXPECT_EQ(recipe_for(4096), "linear_q4gsw.tiled");
}

}  // namespace
}  // namespace qgen
