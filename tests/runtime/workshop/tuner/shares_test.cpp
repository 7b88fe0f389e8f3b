// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A budget shared by simulated problems, with a simulated clock.
#include "runtime/workshop/tuner/shares.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/workshop/tuner/search.h"
#include "tests/support/expected_text.h"

namespace qgen::tuner {
namespace {

struct Problem {
  double elements;
  double opening_s, each_s;
  double compiling_s = 0;
  size_t candidates = 40;
};

struct Spent {
  double seconds = 0;
  std::vector<size_t> tried;  // of each problem

  size_t without_any() const { return static_cast<size_t>(std::ranges::count(tried, size_t{0})); }
};

// As in qgen-tune: problem by problem, each with the times that a search takes within its share.
Spent spend(const std::vector<Problem>& problems, double budget_s) {
  std::vector<double> elements;
  for (const Problem& problem : problems) elements.push_back(problem.elements);
  Shares shares(budget_s, elements);
  Spent spent;
  for (const Problem& problem : problems) {
    if (!shares.may_begin()) {
      shares.spent({});
      spent.tried.push_back(0);
      continue;
    }
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < problem.candidates; ++i)
      candidates.push_back({fmt::format("op.tile.m{}", i), 1.0 + static_cast<double>(i)});
    double elapsed_s = problem.opening_s;
    const Laboratory laboratory{
        .measure = [&](std::span<const std::string> ids, const Round& round) -> Expected<Batch> {
          const double timing_s = problem.each_s * static_cast<double>(ids.size());
          const double compiling_s = round.is_final ? 0 : problem.compiling_s;
          elapsed_s += compiling_s + (round.is_final ? std::min(timing_s, round.within_s) : timing_s);
          return Batch{std::vector(ids.size(), std::optional(measure::Spread{1, 1, 1})), compiling_s};
        },
        .elapsed_s = [&] { return elapsed_s; }};
    const auto found = find_best(candidates, {}, laboratory, {.share = shares.next()});
    shares.spent({elapsed_s, problem.opening_s, found->pace});
    spent.seconds += elapsed_s;
    spent.tried.push_back(found->tried);
  }
  return spent;
}

// The expected times of a problem of this size, in seconds for each element; `small_s` for any size.
std::vector<Problem> problems_of(double small_s, double per_element, size_t small, size_t large) {
  std::vector<Problem> problems;
  for (size_t i = 0; i < small + large; ++i) {
    const double elements = i < small ? 1e4 * static_cast<double>(1 + i) : 6.7e7;
    problems.push_back({elements, small_s + per_element * elements, small_s + 0.3 * per_element * elements});
  }
  return problems;
}

double of_first_candidates(const std::vector<Problem>& problems) {
  double seconds = 0;
  for (const Problem& problem : problems) seconds += problem.opening_s + problem.compiling_s + problem.each_s;
  return seconds;
}

// The inputs of large problems take as long as all that small ones could be given.
TEST(Shares, LeaveNoProblemWithoutATime) {
  for (const double per_element : {5e-9, 2e-8, 4e-8}) {
    const auto problems = problems_of(0.1, per_element, 60, 20);
    for (const double many : {1.3, 2.0, 5.0}) {
      const double budget_s = many * of_first_candidates(problems);
      const Spent made = spend(problems, budget_s);
      EXPECT_EQ(made.without_any(), 0u) << per_element << " s an element, " << budget_s << " s";
      EXPECT_LE(made.seconds, 1.05 * budget_s) << per_element << " s an element, " << budget_s << " s";
    }
  }
}

// Where compiling takes most of it, a share that has time for one candidate has time for its batch.
TEST(Shares, CountCompilingOnceForABatch) {
  const std::vector<Problem> problems(40, {.elements = 1e5, .opening_s = 0.3, .each_s = 0.05, .compiling_s = 0.5});
  const double budget_s = 1.6 * of_first_candidates(problems);
  const Spent made = spend(problems, budget_s);
  EXPECT_LE(made.seconds, budget_s);
  EXPECT_TRUE(std::ranges::all_of(std::span(made.tried).subspan(1), [](size_t tried) { return tried >= 4; }));
}

// A problem that does not fit is not begun; small problems come first, so that the fewest are without a time.
TEST(Shares, BeginNothingThatEndsTooLate) {
  const auto problems = problems_of(0.1, 4e-8, 20, 20);
  const double budget_s = 0.5 * of_first_candidates(problems);
  const Spent made = spend(problems, budget_s);
  EXPECT_LE(made.seconds, 1.05 * budget_s);
  EXPECT_GE(made.seconds, 0.9 * budget_s);
  EXPECT_TRUE(std::ranges::all_of(std::span(made.tried).first(20), [](size_t tried) { return tried > 0; }));
  EXPECT_EQ(made.tried.back(), 0u);

  Shares shares(10, {100, 6.7e7});
  EXPECT_TRUE(shares.may_begin());
  shares.spent({.seconds = 9.5, .opening_s = 0.5, .pace = {.each_s = 0.5}});
  EXPECT_TEXT(shares.may_begin().error().message,
              "nothing was measured: the first kernel is expected to take 3.8 s, and 0.5 are left");
  shares = Shares(1, {100, 6.7e7});
  shares.spent({.seconds = 0.1});
  EXPECT_TRUE(shares.may_begin()) << "one that was refused tells nothing";
  shares = Shares(10, {100, 100});
  shares.spent({.seconds = 11});
  EXPECT_TEXT(shares.may_begin().error().message, "nothing was measured: the earlier problems took the whole budget");
}

// The benefit of more time is predicted from the others' times.
TEST(Shares, SayWhatWasLeftOut) {
  Shares shares(1, {100, 100, 100});
  EXPECT_EQ(shares.of_left_out(), "");
  shares.spent({.seconds = 1, .opening_s = 0.2, .pace = {.each_s = 0.2}});
  shares.spent({.is_left_out = true});
  shares.spent({.is_left_out = true});
  EXPECT_TEXT(shares.of_left_out(),
              "2 of 3 problems have no time, because the budget was too short: they would take about 0.8 s");
}

TEST(Shares, SpendAllOfABudgetThatIsNeeded) {
  const auto problems = problems_of(0.1, 1e-8, 10, 2);
  const Spent made = spend(problems, 40);
  EXPECT_LE(made.seconds, 1.05 * 40);
  EXPECT_GE(made.seconds, 0.8 * 40);
  for (const size_t tried : made.tried) EXPECT_GE(tried, 4u);
}

// Time that one problem does not need is there for the others; a single one has all.
TEST(Shares, AreOfWhatIsLeft) {
  EXPECT_EQ(Shares(60, {1e6}).next().budget_s, 60);
  Shares shares(60, {100, 100, 100});
  EXPECT_DOUBLE_EQ(shares.next().budget_s, 20);
  EXPECT_GE(shares.next().most_s, 60);
  EXPECT_LE(shares.next().most_s, 1.05 * 60);
  shares.spent({.seconds = 2});
  EXPECT_DOUBLE_EQ(shares.next().budget_s, 29);
  shares.spent({.seconds = 2});
  EXPECT_DOUBLE_EQ(shares.next().budget_s, 56);
  shares.spent({.seconds = 57});
  EXPECT_TRUE(Shares(1e-3, {1e9}).may_begin()) << "nothing is known of this host";
}

TEST(Line, GoesThroughWhatWasMeasured) {
  Line line(0.2, 2e-8);
  EXPECT_NEAR(line.at(0), 0.2, 1e-9);
  EXPECT_NEAR(line.at(1e7), 0.4, 1e-9);
  for (int i = 0; i < 100; ++i) line.add(1e4 * i, 1);
  EXPECT_NEAR(line.at(1e5), 1, 0.02) << "a hundred small ones tell of small ones";
  EXPECT_NEAR(line.at(1 << 26), 1.54, 0.02) << "and nothing of large ones";
  for (int i = 0; i < 10; ++i) line.add(1 << 26, 5);
  EXPECT_NEAR(line.at(1 << 26), 4.7, 0.05);
  Line falling(1, 0);
  for (int i = 0; i < 10; ++i) falling.add(1e8, 0);
  EXPECT_EQ(falling.at(0), falling.at(1e8)) << "no larger problem is expected to take less";
}

}  // namespace
}  // namespace qgen::tuner
