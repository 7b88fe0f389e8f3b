// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Random graphs: the plan equals brute force, and is the same for every order of insertion.
#include "tests/runtime/models/planner/random_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/sanitizers.h"
#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/slow_planner.h"

namespace qgen::planner {
namespace {

using testing::BruteForce;
using testing::judge;
using testing::RandomGraph;

const DeviceModel kDevice;
const ConversionCost kRandomCost = RandomGraph::conversion;
constexpr uint32_t kShare = QGEN_SANITIZED ? 4 : 1;

TEST(RandomGraphs, PlansEqualBruteForce) {
  uint32_t possible = 0;
  for (uint32_t seed = 0; seed < 400 / kShare; ++seed) {
    const Graph graph = RandomGraph(seed).make(1 + seed % 3, 3);
    const auto best = BruteForce(graph, kDevice, kRandomCost).best();
    const auto planned = plan(graph, kDevice, kRandomCost);
    ASSERT_EQ(static_cast<bool>(planned), best.has_value())
        << "seed " << seed << ": " << (planned ? "" : planned.error().message);
    if (!planned) continue;
    ++possible;
    const auto verdict = judge(graph, kDevice, kRandomCost, *planned);
    ASSERT_EQ(verdict.fault, "") << "seed " << seed;
    ASSERT_EQ(verdict.rank, *best) << "seed " << seed;
    ASSERT_TRUE(planned->is_optimal()) << "seed " << seed;
    ASSERT_EQ(std::llround(planned->cost_us * 1e6), std::get<0>(*best)) << "seed " << seed;
  }
  EXPECT_GT(possible, 150u / kShare);
}

TEST(RandomGraphs, OrderOfInsertionChangesNothing) {
  for (uint32_t seed = 0; seed < 300 / kShare; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.make(1 + seed % 12, 4);
    const auto first = plan(graph, kDevice, kRandomCost);
    for (int round = 0; round < 4; ++round) {
      random.shuffle(graph);
      const auto again = plan(graph, kDevice, kRandomCost);
      ASSERT_EQ(static_cast<bool>(first), static_cast<bool>(again)) << "seed " << seed;
      if (first) {
        ASSERT_EQ(*first, *again) << "seed " << seed;
      } else {
        ASSERT_EQ(first.error().message, again.error().message) << "seed " << seed;
      }
    }
  }
}

// With tables of at most a few cells most choices are set apart, in turns. A plan is found if there is one, at most a
// few per cent above the least and never below the bound.
TEST(RandomGraphs, SmallTablesComeNearTheLeastCost) {
  uint32_t inexact = 0;
  double found = 0, least = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed).make(4 + seed % 8, 4);
    const auto assignment = make_assignment(graph, kDevice, kRandomCost);
    if (!assignment) continue;
    const Minimum exact = minimize(assignment->model);
    const Minimum narrow = minimize(assignment->model, {.table_cells = 64});
    ASSERT_EQ(exact.cost, exact.lower_bound) << "seed " << seed;
    ASSERT_GE(narrow.cost, exact.cost) << "seed " << seed;
    ASSERT_EQ(is_possible(narrow.cost), is_possible(exact.cost)) << "seed " << seed;
    if (!is_possible(exact.cost)) continue;
    ASSERT_TRUE(is_possible(narrow.lower_bound)) << "seed " << seed;
    ASSERT_LE(narrow.lower_bound.picoseconds, exact.cost.picoseconds) << "seed " << seed;
    inexact += narrow.lower_bound.picoseconds < narrow.cost.picoseconds ? 1 : 0;
    found += static_cast<double>(narrow.cost.picoseconds);
    least += static_cast<double>(exact.cost.picoseconds);
  }
  EXPECT_GT(inexact, 50u) << "too few of these graphs have tables of more cells";
  EXPECT_LT(found, 1.06 * least);
}

TEST(RandomGraphs, GreedyIsNeverBetter) {  // on 200 graphs of ten operators
  const ConversionCost conversion = testing::copy_cost();
  double ours = 0, greedy = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed).make(10, 4, /*may_agree=*/false);
    const auto planned = plan(graph, kDevice, conversion);
    const auto rival = testing::greedy_cost_us(graph, conversion);
    if (!planned || !rival) continue;
    ASSERT_LE(planned->cost_us, *rival + 1e-6) << "seed " << seed;
    ours += planned->cost_us;
    greedy += *rival;
  }
  EXPECT_LT(ours, greedy);
  RecordProperty("greedy_over_ours", fmt::format("{:.3f}", greedy / ours));
}

}  // namespace
}  // namespace qgen::planner
