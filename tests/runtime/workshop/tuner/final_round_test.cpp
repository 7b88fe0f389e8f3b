// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/final_round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>

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
      // A kernel that is the faster one in a quarter of the passes is no tie for that.
      {"noise above the difference", {finalist(0, {10, 13, 10, 13}), finalist(1, {12, 11, 11, 11})}, 1, 1},
      {"one that left", {finalist(0, {10, 10, 10}), finalist(1, {10, 10, 10, 10}), finalist(2, {9, 11, 11, 11})}, 1, 1},
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

// The interval is where 98 % of all medians are, and becomes narrower with each pass.
TEST(FinalRound, KnowsHowUncertainARatioIs) {
  EXPECT_EQ(compare({}, {}).median, std::numeric_limits<double>::infinity());
  const std::vector<double> five(5, 3.0), six(6, 3.0);
  EXPECT_EQ(compare(five, six).low, 0);
  EXPECT_EQ(compare(six, six).low, 1);
  EXPECT_TRUE(compare(six, six).is_decided());
  std::mt19937 random(3);
  size_t within = 0;
  constexpr size_t kTrials = 1000;
  double before = std::numeric_limits<double>::infinity();
  for (const size_t passes : {6, 12, 40, 120}) {
    double width = 0;
    for (size_t trial = 0; trial < kTrials; ++trial) {
      std::vector<double> a, b;
      for (size_t i = 0; i < passes; ++i) {
        a.push_back(1.1 * std::exp(std::normal_distribution(0.0, 0.1)(random)));
        b.push_back(std::exp(std::normal_distribution(0.0, 0.1)(random)));
      }
      const Ratio ratio = compare(a, b);
      within += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
      width += ratio.high - ratio.low;
    }
    EXPECT_LT(width, before) << passes;
    before = width;
  }
  EXPECT_GE(within, 4 * kTrials * 95 / 100);
}

TEST(FinalRound, GoesOnUntilItIsDecided) {
  struct Row {
    std::string_view name;
    std::vector<std::vector<double>> rounds_us;
    std::vector<bool> takes_part;
  };
  const auto times = [](size_t passes, double us) { return std::vector(passes, us); };
  const auto noisy = [](size_t passes, double us) {
    std::vector<double> made;
    for (size_t i = 0; i < passes; ++i) made.push_back(us * (i % 3 == 0 ? 1.3 : i % 3 == 1 ? 0.8 : 1.0));
    return made;
  };
  for (const Row& row : {
           Row{"few passes", {times(3, 10), times(3, 20)}, {true, true}},
           {"a slower one leaves", {times(6, 10), times(6, 20), times(6, 10)}, {true, false, true}},
           {"a tie and a slower one are decided",
            {times(12, 10), times(12, 10.1), times(6, 20)},
            {false, false, false}},
           {"noise", {times(12, 10), noisy(12, 10.1)}, {true, true}},
           {"noise, of one that is clearly slower", {times(12, 10), noisy(12, 20)}, {false, false}},
           {"one alone", {times(12, 10)}, {false}},
           {"far slower at its first look", {{}, times(8, 10), times(8, 10)}, {false, true, true}},
           {"one that left stays away", {times(12, 10), noisy(12, 10), times(6, 10)}, {true, true, false}},
       }) {
    EXPECT_EQ(passes([] { return 1.0; })(row.rounds_us), row.takes_part) << row.name;
  }
  // At a clock of which each pass takes two seconds.
  double left_s = 7;
  const NextRound next = passes([&] { return left_s -= 2; });
  const std::vector<std::vector<double>> open = {times(3, 10), times(3, 10)};
  EXPECT_EQ(next(open), std::vector({true, true}));
  EXPECT_EQ(next(open), std::vector({true, true}));
  EXPECT_EQ(next(open), std::vector({false, false})) << "in the second that is left no pass ends";
}

struct SimulatedKernel {
  size_t by_estimate;
  double time;
  // In this part of its chains its threads run one after the other, and it takes so many times as long.
  double serial = 0, times_serial = 1;
};

// A final round of two seconds on a busy machine, at a simulated clock. Its load changes slowly, and most chains are
// interrupted.
std::vector<Finalist> busy_final_round(std::span<const SimulatedKernel> kernels, std::mt19937& random) {
  constexpr double kWithinS = 2;
  const auto between = [&](double least, double most) { return std::uniform_real_distribution(least, most)(random); };
  double now_s = 0, load = 1;
  std::vector<measure::Racer> racers;
  std::vector<uint32_t> chains(kernels.size()), counted(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    racers.push_back({.record =
                          [&, i](uint32_t replays, uint32_t of_run) {
                            chains[i] = replays, counted[i] = of_run;
                            return Done(std::monostate{});
                          },
                      .run = [&, i]() -> Expected<std::vector<double>> {
                        load = std::clamp(load * std::exp(between(-0.1, 0.1)), 1.0, 3.0);
                        std::vector<double> samples;
                        for (uint32_t chain = 0; chain < counted[i]; ++chain) {
                          const double interrupted = between(0, 1) < 0.6 ? between(1.1, 6) : between(1, 1.05);
                          const double serial = between(0, 1) < kernels[i].serial ? kernels[i].times_serial : 1;
                          samples.push_back(500 * kernels[i].time * load * interrupted * serial);
                          now_s += 1e-6 * chains[i] * samples.back();
                        }
                        return samples;
                      }});
  }
  measure::SteadyClock clock;
  const auto times = measure::race(
      clock, racers, {.replays = 5 * kMostPasses, .chains = 5, .is_quick = true, .next_round = passes([&] {
                                                                                   return kWithinS - now_s;
                                                                                 })});
  EXPECT_TRUE(times);
  EXPECT_LE(now_s, 1.1 * kWithinS);
  std::vector<Finalist> finalists;
  for (size_t i = 0; i < kernels.size(); ++i) {
    finalists.push_back({.id = std::to_string(i), .by_estimate = kernels[i].by_estimate, .us = times->device_us[i]});
    finalists.back().rounds_us = times->rounds_us[i];
  }
  return finalists;
}

// Two tunings of a busy machine choose kernels that are nearly as fast as the best, and as each other.
TEST(FinalRound, ChoosesWellOnABusyMachine) {
  constexpr size_t kTrials = 200;
  constexpr SimulatedKernel kKernels[] = {{4, 1.0}, {2, 1.01}, {0, 1.08}, {9, 1.4}};
  std::mt19937 random(7);
  const auto time_of_choice = [&](bool is_by_median) {
    std::vector<Finalist> finalists = busy_final_round(kKernels, random);
    const auto by_median = std::ranges::min_element(finalists, {}, [](const Finalist& f) { return f.us.median; });
    const size_t place = is_by_median ? static_cast<size_t>(by_median - finalists.begin()) : settle(finalists).choice;
    return kKernels[place].time;
  };
  for (const bool is_by_median : {false, true}) {
    size_t fast = 0, same = 0;
    for (size_t trial = 0; trial < kTrials; ++trial) {
      const double one = time_of_choice(is_by_median), other = time_of_choice(is_by_median);
      fast += one <= 1.03 ? 1 : 0;
      same += std::max(one, other) <= 1.03 * std::min(one, other) ? 1 : 0;
    }
    if (is_by_median) EXPECT_LT(same, kTrials * 90 / 100) << "the test tells the two apart";
    else EXPECT_GE(std::min(fast, same), kTrials * 95 / 100);
  }
}

// A kernel of two threads takes half the time of the same kernel in one thread, if both threads run at once. A final
// round finds it if some of its chains do. If none does, nothing tells the two apart: host_threads.h is there for that.
TEST(FinalRound, FindsAKernelOfTwoThreadsIfSomeOfItsChainsRunAtOnce) {
  constexpr size_t kTrials = 200;
  std::mt19937 random(11);
  const auto found = [&](double serial) {
    const SimulatedKernel kernels[] = {{0, 1.0}, {1, 0.55, serial, 1.8}};
    size_t found = 0;
    for (size_t trial = 0; trial < kTrials; ++trial) {
      std::vector<Finalist> finalists = busy_final_round(kernels, random);
      found += settle(finalists).choice;
    }
    return found;
  };
  EXPECT_EQ(found(0), kTrials);
  EXPECT_GE(found(0.6), kTrials * 98 / 100);
  EXPECT_LT(found(1), kTrials * 50 / 100);
}

}  // namespace
}  // namespace qgen::tuner
