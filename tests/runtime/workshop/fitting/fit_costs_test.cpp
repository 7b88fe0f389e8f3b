// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Times are made from constants that are known, which must be found again.
#include "runtime/workshop/fitting/fit_costs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/engine/selector/select.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"

namespace qgen::fitting {
namespace {

DeviceProfile fit_device() {
  DeviceProfile device;
  device.name = "Example GPU 1";
  device.features = bit(Feature::storage_buffer_16bit) | bit(Feature::shader_float16) |
                    bit(Feature::storage_buffer_8bit) | bit(Feature::subgroup_arithmetic);
  device.max_workgroup_size = {1024, 1024, 64};
  device.numbers.max_workgroup_invocations = 1024;
  device.numbers.shared_memory_bytes = 49152;
  device.min_subgroup_size = device.max_subgroup_size = 32;
  return device;
}

// The constants that times are made from.
struct Truth {
  double scale_rows[2] = {4, 1.5};
  double partial[1] = {4};
  double whole[1] = {0.02};

  double us(const Choice& choice, const DeviceProfile& device) const {
    double sum = 0;
    for (const Launch& launch : choice.launches) {
      const double* fit = launch.op == &test::scale_rows::kOperator ? scale_rows
                          : launch.op == &test::sum::kPartial       ? partial
                                                                    : whole;
      sum += launch.op
                 ->cost({launch.problem.data(), launch.kernel->parameters,
                         launch.op->specialization(launch.specialization), &device.numbers, fit})
                 .value;
    }
    return sum;
  }
};

class Fit : public ::testing::Test {
 protected:
  // Every choice of a problem, as `truth` and an error of up to `noise` have it.
  void measure(const std::string& problem, const Truth& truth, double noise = 0) {
    SelectOptions options;
    options.all_specializations = options.all_step_kernels = true;
    const Selection all = select(*problem_of(problem, library_), devices_[0].device, library_, options);
    std::uniform_real_distribution<double> error(1 - noise, 1 + noise);
    for (const Choice& choice : all.ranked) {
      const double us = truth.us(choice, devices_[0].device) * (noise > 0 ? error(random_) : 1);
      devices_[0].rows.push_back({problem, choice.id, 0, us, us, us, "2026-11-23", ""});
    }
  }
  void measure_scale_rows(std::initializer_list<int> rows, const Truth& truth, double noise = 0) {
    for (const int count : rows) {
      measure(fmt::format("scale_rows rows={} width=4096 input=f32:strided factor=none output=f32:strided", count),
              truth, noise);
    }
  }
  CostFit fit(const FitOptions& options = {}) {
    auto result = fit_costs(devices_, library_, options);
    EXPECT_TRUE(result) << to_text(result.error());
    return result ? *std::move(result) : CostFit();
  }
  static std::string found(const CostFit& fit) {
    std::string text;
    for (const FittedConstant& c : fit.constants) text += fmt::format("{}.{}={:.3g} ", c.spec, c.name, c.after);
    return text;
  }

  const KernelLibrary library_ = *KernelLibrary::open(test::sample_library());
  std::vector<tuning::TuningFile> devices_ = {{fit_device(), {}}};
  std::mt19937 random_{1};
};

TEST_F(Fit, FindsTheConstantsThatTimesAreMadeFrom) {
  measure_scale_rows({1, 16, 256, 4096}, {.scale_rows = {7, 1.2}});
  const CostFit found_again = fit();
  EXPECT_EQ(found(found_again), "scale_rows.single=7 scale_rows.odd_workgroup=1.2 ");
  ASSERT_EQ(found_again.operators.size(), 1U);
  const OperatorFit& op = found_again.operators.front();
  EXPECT_EQ(op.problems, 4U);
  EXPECT_EQ(op.rows, 24U);  // two variants with three workgroups
  EXPECT_GT(op.before.errors.worst, 1.5);
  EXPECT_NEAR(op.after.errors.worst, 1, 0.01);
  EXPECT_NEAR(op.unseen.errors.worst, 1, 0.01);
  EXPECT_EQ(op.after.choices.geometric_mean, 1);
  EXPECT_EQ(op.after.choices.in_first_five, 1);
}

TEST_F(Fit, SeparatesTheStepsOfARecipe) {
  for (const int count : {1000, 5000, 100'000, 3'000'000}) {
    measure(fmt::format("sum count={} input=f32:strided output=f32:strided", count), {.partial = {9}, .whole = {0.05}});
  }
  EXPECT_EQ(found(fit()), "sum.element_us=0.05 sum_partial.bytes=9 ");
}

TEST_F(Fit, LeavesConstantsOfOtherSpecs) {
  for (const int count : {1000, 5000, 100'000, 3'000'000}) {
    measure(fmt::format("sum count={} input=f32:strided output=f32:strided", count), {.whole = {0.05}});
  }
  EXPECT_EQ(found(fit({.only = {"sum"}})), "sum.element_us=0.05 ");
  EXPECT_TEXT(fit_costs(devices_, library_, {.only = {"sum", "scale_rows"}}).error().message,
              "no row's cost reads a constant of 'scale_rows'");
}

// One constant for two workgroups, one of which takes eight times as long: the time of the faster is met.
TEST_F(Fit, MeetsTheTimesOfTheFastest) {
  measure_scale_rows({256, 1024, 4096}, {.scale_rows = {4, 1}});
  for (tuning::TunedRow& row : devices_[0].rows) row.us *= row.kernel.ends_with("workgroup256") ? 8 : 1;
  const FittedConstant odd_workgroup = fit().constants[1];
  EXPECT_EQ(odd_workgroup.name, "odd_workgroup");
  EXPECT_LT(odd_workgroup.after, 1.25);
}

// One constant for two workgroups, of which one is the best and the other the worst: by the mean of their times, the
// third would be chosen.
TEST_F(Fit, CountsWhatErrorsDoToChoices) {
  measure_scale_rows({4096, 8192, 16384}, {.scale_rows = {4, 1}});
  for (tuning::TunedRow& row : devices_[0].rows) {
    row.us *= row.kernel.ends_with("workgroup64") ? 0.8 : row.kernel.ends_with("workgroup256") ? 1.4 : 1;
  }
  EXPECT_EQ(fit().operators.front().after.choices.worst, 1);
}

TEST_F(Fit, BearsErrorsAndOutliers) {
  measure_scale_rows({1, 16, 64, 256, 1024, 4096, 16384}, {.scale_rows = {7, 2.5}}, 0.05);
  devices_[0].rows[1].us *= 50;
  devices_[0].rows[20].us /= 50;
  const CostFit noisy = fit();
  EXPECT_NEAR(noisy.constants[0].after, 7, 0.35);
  EXPECT_NEAR(noisy.constants[1].after, 2.5, 0.125);
  EXPECT_GT(noisy.operators[0].after.errors.worst, 40);  // reported, not hidden
}

// A better model corrects a wrong ranking: the best was 128 before, and is 64 or 256 by the times.
TEST_F(Fit, TellsHowGoodChoicesAre) {
  measure_scale_rows({4096, 8192, 16384}, {.scale_rows = {4, 0.5}});
  const OperatorFit op = fit().operators.front();
  EXPECT_NEAR(op.before.choices.geometric_mean, 0.5, 0.01);
  EXPECT_NEAR(op.before.choices.worst, 0.5, 0.01);
  EXPECT_EQ(op.before.choices.in_first_five, 1);
  EXPECT_EQ(op.after.choices.worst, 1);
  EXPECT_EQ(op.unseen.choices.worst, 1);
}

// Workgroups of 64 and 256 cost the same, and take 1 and 0.5: select() would take the first.
TEST_F(Fit, JudgesEqualCostsAsSelectRanksThem) {
  measure_scale_rows({4096, 8192, 16384}, {.scale_rows = {4, 0.5}});
  for (tuning::TunedRow& row : devices_[0].rows) row.us *= row.kernel.ends_with("workgroup64") ? 2 : 1;
  EXPECT_NEAR(fit().operators.front().after.choices.worst, 0.5, 0.01);
}

// All times of one problem are 1.3 times as long as those of others suggest, and none is for the other workgroup: the
// constant that distinguishes them hardly moves.
TEST_F(Fit, ChangesNoChoiceForAnErrorThatAllOfAProblemShare) {
  measure_scale_rows({64, 256, 1024}, {.scale_rows = {4, 1.5}});
  std::erase_if(devices_[0].rows, [](const tuning::TunedRow& row) {
    return row.problem.starts_with("scale_rows rows=256 ") && row.kernel.ends_with("workgroup128");
  });
  for (tuning::TunedRow& row : devices_[0].rows) row.us *= row.problem.starts_with("scale_rows rows=256 ") ? 1.3 : 1;
  EXPECT_NEAR(fit().constants[1].after, 1.5, 0.1);
}

TEST_F(Fit, KeepsWhatNoRowDetermines) {
  measure_scale_rows({16, 256}, {.scale_rows = {7, 2.5}});
  std::erase_if(devices_[0].rows, [](const tuning::TunedRow& row) { return !row.kernel.ends_with("workgroup128"); });
  EXPECT_EQ(found(fit()), "scale_rows.single=7 scale_rows.odd_workgroup=1.5 ");
}

TEST_F(Fit, OfOneProblemJudgesNothingUnseen) {
  measure_scale_rows({256}, {.scale_rows = {7, 2.5}});
  const CostFit one = fit();
  EXPECT_EQ(found(one), "scale_rows.single=7 scale_rows.odd_workgroup=2.5 ");
  EXPECT_EQ(one.operators[0].unseen.errors.worst, one.operators[0].before.errors.worst);
}

TEST_F(Fit, TakesRowsOfSeveralDevices) {
  measure_scale_rows({256}, {.scale_rows = {7, 2.5}});
  tuning::TuningFile other{fit_device(), {}};
  other.device.numbers.bytes_per_us = 1e6;
  devices_.insert(devices_.begin(), other);
  measure_scale_rows({4096}, {.scale_rows = {7, 2.5}});
  const CostFit both = fit();
  EXPECT_EQ(both.operators[0].problems, 2U);
  EXPECT_NEAR(both.operators[0].after.errors.worst, 1, 0.01);
}

TEST_F(Fit, PassesOverWhatTheLibraryDoesNotHave) {
  measure_scale_rows({256}, {});
  const size_t rows = devices_[0].rows.size();
  tuning::TunedRow row = devices_[0].rows.front();
  row.kernel = "scale_rows.f32.buffer.vec8/workgroup128";
  devices_[0].rows.push_back(row);
  row = devices_[0].rows.front();
  row.digest = 1;
  devices_[0].rows.push_back(row);
  row = devices_[0].rows.front();
  row.problem = "scale_rows rows=256 input=f32:strided factor=none output=f32:strided";
  devices_[0].rows.push_back(row);
  const CostFit some = fit();
  EXPECT_EQ(some.operators[0].rows, rows);
  EXPECT_EQ(some.passed_over,
            (std::vector<std::string>{"1 row: the kernel has changed since it was measured",
                                      "1 row: the key of a problem of 'scale_rows' lacks its field 'width'",
                                      "1 row: the library does not have the kernel"}));
}

TEST_F(Fit, RefusesWhenThereIsNothingToFitTo) {
  EXPECT_TEXT(fit_costs(devices_, library_, {}).error().message, "there are no rows to fit to");
  EXPECT_TEXT(fit_costs(devices_, library_, {.operators = {"scale_row"}}).error().message,
              "no operator is named 'scale_row'");
  measure_scale_rows({256}, {});
  EXPECT_TEXT(fit_costs(devices_, library_, {.operators = {"sum"}}).error().message, "there are no rows to fit to");
}

}  // namespace
}  // namespace qgen::fitting
