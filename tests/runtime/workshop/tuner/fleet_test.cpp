// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Fleets of simulated devices, whose true times are known.
#include "runtime/workshop/tuner/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "common/shard.h"

namespace qgen::tuner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using tuning::TunedRow;

constexpr size_t kProblems = 60, kKernels = 12;

double true_us(size_t problem, size_t kernel) {
  return 10.0 * static_cast<double>(1 + problem) * (1 + 0.07 * static_cast<double>((kernel * 7 + problem) % kKernels));
}
std::string problem_name(size_t problem) { return fmt::format("op n={}", problem); }
std::string kernel_name(size_t kernel) { return fmt::format("op.k{}/workgroup64", kernel); }

// How a device behaves. `speed` is of everything that it does, as of a card with another clock.
struct Behaviour {
  double speed = 1;
  double noise = 0.0025;
  double drift = 0;  // how much slower it becomes in the course of each problem
  double lie = 1;    // of its kernels' times, and not of its base times
};

FleetResult result_of(uint8_t device, const Shard& shard, const Behaviour& how, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto noisy = [&](double us) { return us * std::exp(std::normal_distribution(0.0, how.noise)(random)); };
  FleetResult result{.name = fmt::format("{}.yaml", device), .file = {.device = {.name = "A"}}};
  result.file.device.device_uuid[0] = device;
  for (size_t problem = 0; problem < kProblems; ++problem) {
    if (!shard.has(problem)) continue;
    std::vector<double>& base = result.file.base_us[problem_name(problem)];
    for (const double part : {0.0, 0.5, 1.0}) base.push_back(noisy(30 * how.speed * (1 + part * how.drift)));
    for (size_t kernel = 0; kernel < kKernels; ++kernel) {
      const double part = static_cast<double>(kernel) / kKernels;
      const double us = noisy(true_us(problem, kernel) * how.speed * (1 + part * how.drift)) * how.lie;
      TunedRow row{problem_name(problem), kernel_name(kernel), 7, us, 0.99 * us, 1.02 * us, "2026-11-27", ""};
      row.samples = 60;
      row.is_final = us < 1.2 * true_us(problem, kernel) && kernel < 4;
      result.file.rows.push_back(row);
    }
  }
  std::ranges::sort(result.file.rows, {}, [](const TunedRow& row) { return order_of(row); });
  return result;
}

// Fifty devices; each of ten parts is tuned by five. Six drift, five lie, four die and give nothing, five answer twice.
std::vector<FleetResult> fleet() {
  std::vector<FleetResult> results;
  for (uint8_t device = 0; device < 50; ++device) {
    const Shard shard{static_cast<uint32_t>(1 + device % 10), 10};
    Behaviour how{.speed = 0.94 + 0.0024 * device};  // 1 in the middle
    if (device % 8 == 3) how.drift = 0.25;
    if (device % 11 == 5) how.lie = device % 2 == 0 ? 0.5 : 1.7;
    if (device % 13 == 9) continue;
    results.push_back(result_of(device, shard, how, device));
    if (device % 10 == 7) results.push_back(result_of(device, shard, how, 1000u + device));
  }
  return results;
}

TEST(Fleet, FindsTheTruthAmongDriftAndLies) {
  const FleetTable table = merged_fleet(fleet());
  ASSERT_EQ(table.file.rows.size(), kProblems * kKernels);
  std::map<std::string, double> truth;
  for (size_t problem = 0; problem < kProblems; ++problem) {
    for (size_t kernel = 0; kernel < kKernels; ++kernel)
      truth[problem_name(problem) + kernel_name(kernel)] = true_us(problem, kernel);
  }
  for (const TunedRow& row : table.file.rows) {
    EXPECT_NEAR(row.us / truth[row.problem + row.kernel], 1, 0.01) << row.problem << ' ' << row.kernel;
  }
  for (const FleetDecision& decision : table.decisions) {
    EXPECT_FALSE(decision.is_marked) << decision.problem;
    EXPECT_GE(decision.answers - decision.drifted - decision.lied, 1u) << decision.problem;
  }
  EXPECT_THAT(table.told, Contains(HasSubstr("its times differ from those of others by")));
  EXPECT_THAT(to_text("A, driver", table.decisions), HasSubstr("A, driver\top n=0\top.k0/workgroup64\twarm\t"));
}

TEST(Fleet, GivesTheSameBytesInEveryOrder) {
  const std::string expected = to_yaml(merged_fleet(fleet()).file);
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<FleetResult> results = fleet();
    const std::vector<FleetResult> again(results.begin(), results.begin() + trial);
    results.insert(results.end(), again.begin(), again.end());  // some are given twice
    std::ranges::shuffle(results, random);
    EXPECT_EQ(to_yaml(merged_fleet(std::move(results)).file), expected) << trial;
  }
}

TEST(Fleet, KeepsTheNumbersOfTheDeviceThatMeasuredThem) {
  std::vector<FleetResult> results = fleet();
  results[20].file.device.numbers.launch_us = 1.5;
  results[20].file.device.sources["launch_us"] = "qgen-info --measure on 2026-11-30";
  const DeviceProfile merged = merged_fleet(std::move(results)).file.device;
  EXPECT_EQ(merged.sources.count("launch_us"), 1u);
  EXPECT_EQ(merged.numbers.launch_us, 1.5);
}

// A row of devices that drifted is kept, and says so; one of a liar alone is not known to be one.
TEST(Fleet, MarksWhatOnlyDriftingDevicesMeasured) {
  const Shard all;
  const FleetTable table = merged_fleet({result_of(1, all, {.drift = 0.2}, 1), result_of(2, all, {.drift = 0.3}, 2)});
  ASSERT_EQ(table.file.rows.size(), kProblems * kKernels);
  for (const FleetDecision& decision : table.decisions) EXPECT_TRUE(decision.is_marked);
  for (const TunedRow& row : table.file.rows) EXPECT_NEAR(row.clock, 1 / 1.3, 0.02) << "the slower of both";
  EXPECT_THAT(table.told, Contains(HasSubstr("rows are of devices that drifted, and of no other")));
}

// Two versions of a kernel: the newer one counts, however many measured the older one.
TEST(Fleet, TakesTheNewestVersionOfAKernel) {
  const Shard all;
  std::vector<FleetResult> results = {result_of(1, all, {}, 1), result_of(2, all, {}, 2), result_of(3, all, {}, 3)};
  for (TunedRow& row : results[2].file.rows) {
    row.digest = 8;
    row.date = "2026-11-28";
  }
  for (const TunedRow& row : merged_fleet(results).file.rows) EXPECT_EQ(row.digest, 8u);
}

TEST(Fleet, OfOneResultIsThatResult) {
  const FleetResult one = result_of(1, {}, {}, 1);
  const FleetTable table = merged_fleet({one, one});
  ASSERT_EQ(table.file.rows.size(), one.file.rows.size());
  for (size_t i = 0; i < table.file.rows.size(); ++i) {
    // Weighed against the device's own median.
    EXPECT_NEAR(table.file.rows[i].us / one.file.rows[i].us, 1, 0.01);
    EXPECT_EQ(table.file.rows[i].is_final, one.file.rows[i].is_final);
  }
}

}  // namespace
}  // namespace qgen::tuner
