// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/final_round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace qgen::tuner {
namespace {

Finalist finalist(size_t by_estimate, std::vector<double> rounds_us) {
  Finalist made{.id = std::to_string(by_estimate), .by_estimate = by_estimate};
  made.us = measure::spread_of(rounds_us);
  made.rounds_us = std::move(rounds_us);
  return made;
}

struct Case {
  std::string_view name;
  std::vector<Finalist> finalists;
  size_t choice, ties;
};

TEST(FinalRound, ChoosesTheSmallestEstimateAmongTies) {
  Case cases[] = {
      {"one", {finalist(3, {5, 5, 5})}, 0, 1},
      {"clearly faster", {finalist(0, {10, 10, 10}), finalist(1, {9, 9, 9})}, 1, 1},
      {"within the margin", {finalist(0, {10.1, 10.1, 10.1}), finalist(1, {10, 10, 10})}, 0, 2},
      {"just beyond it", {finalist(0, {10.3, 10.3, 10.3}), finalist(1, {10, 10, 10})}, 1, 1},
      // A load that comes and goes hits both: round by round the second is faster.
      {"paired", {finalist(0, {11, 22, 11, 33}), finalist(1, {10, 20, 10, 30})}, 1, 1},
      // By medians the first would be the best, which was the faster one in one pair of five.
      {"paired, against the medians", {finalist(0, {11, 11, 33, 33, 11}), finalist(1, {10, 10, 30, 30, 30})}, 1, 1},
      {"noise above the difference", {finalist(0, {10, 13, 10, 13}), finalist(1, {12, 11, 11, 11})}, 0, 2},
      {"the estimate is not the first", {finalist(2, {10, 10}), finalist(1, {10, 10}), finalist(0, {20, 20})}, 1, 2},
      {"without rounds", {finalist(0, {}), finalist(1, {})}, 0, 2},
  };
  for (Case& row : cases) {
    for (Finalist& one : row.finalists) {
      if (one.rounds_us.empty()) one.us = {7, 7, 7, 60};
    }
    const FinalRound settled = settle(row.finalists);
    EXPECT_EQ(settled.choice, row.choice) << row.name;
    EXPECT_EQ(settled.ties, row.ties) << row.name;
    for (size_t i = 0; i < row.finalists.size(); ++i) {
      const measure::Spread& us = row.finalists[i].us;
      const double of_choice = row.finalists[settled.choice].us.median;
      EXPECT_TRUE(i == settled.choice || us.median > of_choice) << row.name << ' ' << i;
      EXPECT_LE(us.low, us.median) << row.name;
      EXPECT_GE(us.high, us.median) << row.name;
    }
  }
}

// Two tunings of a busy machine: a load of each round that all kernels meet, and noise of each time. Those whose true
// times differ by less than the noise get one choice more often than by the shortest median.
TEST(FinalRound, ChoosesTheSameUnderNoise) {
  size_t same = 0, same_by_median = 0;
  constexpr size_t kTrials = 500;
  std::mt19937 random(7);
  const auto choices = [&] {
    std::vector<Finalist> finalists;
    std::vector<double> loads(12);
    for (double& load : loads) load = std::uniform_real_distribution(1.0, 3.0)(random);
    for (const auto& [by_estimate, us] : {std::pair(4, 10.0), {2, 10.1}, {0, 10.15}, {9, 14.0}}) {
      std::vector<double> rounds;
      for (const double load : loads) {
        rounds.push_back(us * load * std::exp(std::normal_distribution(0.0, 0.05)(random)));
      }
      finalists.push_back(finalist(static_cast<size_t>(by_estimate), std::move(rounds)));
    }
    const auto by_median = std::ranges::min_element(finalists, {}, [](const Finalist& f) { return f.us.median; });
    const auto place = static_cast<size_t>(by_median - finalists.begin());
    return std::pair(settle(finalists).choice, place);
  };
  for (size_t i = 0; i < kTrials; ++i) {
    const auto [choice, by_median] = choices();
    const auto [again, again_by_median] = choices();
    EXPECT_NE(choice, 3u) << "the slow one";
    same += choice == again ? 1 : 0;
    same_by_median += by_median == again_by_median ? 1 : 0;
  }
  EXPECT_GE(same, kTrials * 3 / 4);
  EXPECT_LE(same_by_median, kTrials / 2) << "the test tells the two apart";
}

}  // namespace
}  // namespace qgen::tuner
