// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is done where a graph is too wide for tables: each step against the exact answer on small graphs, and whole
// plans of large ones against their own bound.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/planner/forests.h"
#include "runtime/planner/plan.h"
#include "runtime/planner/sieve.h"
#include "runtime/planner/tighten.h"
#include "tests/runtime/planner/random_graph.h"
#include "tests/runtime/planner/slow_planner.h"

namespace qgen::planner {
namespace {

using testing::judge;
using testing::RandomGraph;

// Models of random graphs, with what they cost at least.
struct Solved {
  uint32_t seed;
  ChoiceModel model;
  Minimum exact;
};

std::vector<Solved> solved_models() {
  std::vector<Solved> result;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed).make(2 + seed % 10, 4);
    const auto assignment = make_assignment(graph, {}, RandomGraph::conversion);
    if (assignment) result.push_back({seed, assignment->model, minimize(assignment->model)});
  }
  return result;
}

TEST(WideGraphs, WhatIsSiftedOutIsInNoAssignment) {
  uint32_t sifted_out = 0;
  for (const auto& [seed, model, exact] : solved_models()) {
    const Stars stars = stars_of(model);
    const auto left = sifted(stars);
    ASSERT_TRUE(left || !is_possible(exact.cost)) << "seed " << seed;
    if (!is_possible(exact.cost)) continue;
    sifted_out += left->followers.ids.size() < stars.followers.ids.size() ? 1 : 0;
    for (const Stars::Side* side : {&left->leaders, &left->followers}) {
      for (uint32_t at = 0; at < side->choices.size(); ++at) {
        const auto ids = side->values.of(side->ids, at);
        ASSERT_NE(std::find(ids.begin(), ids.end(), exact.values[side->choices[at]]), ids.end()) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(sifted_out, 10u);
}

// Leaders 0 and 1 around follower 2: the values of 0 fit its first state and its second, 1 fits the second and third.
TEST(WideGraphs, SievesGoOnUntilNothingFalls) {
  ChoiceModel model;
  model.costs = {{{1, 0}, {1, 0}}, {{1, 0}}, {{1, 0}, {1, 0}, {1, 0}}};
  model.fits = {{0, 2, {0b01, 0b10}, {0b01, 0b10, 0b100}}, {1, 2, {0b10}, {0b01, 0b10, 0b10}}};
  model.leaders = 2;
  const auto left = sifted(stars_of(model));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->leaders.ids, (std::vector<uint32_t>{1, 0}));  // one value each: the second of 0
  EXPECT_EQ(left->followers.ids, (std::vector<uint32_t>{1}));
  model.fits[1].a_masks = {0b100};
  EXPECT_FALSE(sifted(stars_of(model)));
}

TEST(WideGraphs, PricesBoundTheLeastCost) {
  double bounds = 0, costs = 0;
  for (const auto& [seed, model, exact] : solved_models()) {
    const auto stars = sifted(stars_of(model));
    if (!stars || !is_possible(exact.cost)) continue;
    int64_t before = 0;
    for (uint32_t rounds : {0u, 1u, 2u, 20u}) {
      const Tightened tight = tighten(*stars, rounds);
      ASSERT_GE(tight.lower_bound, before) << "seed " << seed << ", rounds " << rounds;
      ASSERT_LE(tight.lower_bound, exact.cost.picoseconds) << "seed " << seed << ", rounds " << rounds;
      // Prices change no assignment's cost.
      ASSERT_EQ(minimize(with_prices(model, *stars, tight)).cost.picoseconds, exact.cost.picoseconds)
          << "seed " << seed;
      before = tight.lower_bound;
    }
    bounds += static_cast<double>(before);
    costs += static_cast<double>(exact.cost.picoseconds);
  }
  EXPECT_GT(bounds, 0.98 * costs);
}

TEST(WideGraphs, ForestsNeverMakeWorse) {
  double first = 0, last = 0, least = 0;
  for (const auto& [seed, model, exact] : solved_models()) {
    const auto stars = sifted(stars_of(model));
    if (!stars || !is_possible(exact.cost)) continue;
    FittingStates fitting(*stars);
    auto chosen = cheapest(*stars);
    Cost before = completed(*stars, fitting, chosen).cost;
    if (!is_possible(before)) continue;
    first += static_cast<double>(before.picoseconds);
    for (uint32_t rounds = 1; rounds < 10; ++rounds) {
      improve_by_forests(*stars, fitting, chosen, rounds);
      const Cost now = completed(*stars, fitting, chosen).cost;
      ASSERT_LE(now, before) << "seed " << seed;
      ASSERT_GE(now, exact.cost) << "seed " << seed;
      before = now;
    }
    last += static_cast<double>(before.picoseconds);
    least += static_cast<double>(exact.cost.picoseconds);
  }
  EXPECT_GT(first, 1.1 * least);
  EXPECT_LT(last, 1.02 * least);
}

// A chain is one tree, so one round solves it, ties included.
TEST(WideGraphs, AForestThatIsAllOfTheGraphIsExact) {
  uint32_t chains = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.make(12, 4);
    for (size_t at = 0; at < graph.nodes.size(); ++at) {
      Node& node = graph.nodes[at];
      node.inputs = {at == 0 ? graph.tensors.front().name : graph.nodes[at - 1].outputs.front()};
      for (Kernel& kernel : node.kernels) {
        kernel.takes.erase(kernel.takes.begin() + 1, kernel.takes.end() - static_cast<ptrdiff_t>(node.outputs.size()));
        kernel.synced.clear();
      }
    }
    const auto assignment = make_assignment(graph, {}, RandomGraph::conversion);
    const auto stars = assignment ? sifted(stars_of(assignment->model)) : std::nullopt;
    if (!stars) continue;
    FittingStates fitting(*stars);
    auto chosen = cheapest(*stars);
    if (!is_possible(completed(*stars, fitting, chosen).cost)) continue;
    ++chains;
    improve_by_forests(*stars, fitting, chosen, 1);
    ASSERT_EQ(completed(*stars, fitting, chosen).cost, minimize(assignment->model).cost) << "seed " << seed;
  }
  EXPECT_GT(chains, 20u);
}

TEST(WideGraphs, LargePlansAreSoundAndNearTheirBound) {
  PlanOptions options;
  options.conversion = conversion_cost(options.device);
  for (uint32_t seed = 0; seed < 3; ++seed) {
    RandomGraph random(seed);
    Graph graph = random.make(600, 4);
    for (Node& node : graph.nodes) {  // so that there is a plan
      for (Kernel& kernel : node.kernels) kernel.synced.clear();
    }
    const auto planned = plan(graph, options);
    ASSERT_TRUE(planned) << planned.error().message;
    const auto verdict = judge(graph, options, *planned);
    ASSERT_EQ(verdict.fault, "") << "seed " << seed;
    ASSERT_EQ(std::llround(planned->cost_us * 1e6), std::get<0>(verdict.rank)) << "seed " << seed;
    EXPECT_FALSE(planned->is_optimal()) << "seed " << seed << ": not wide enough to tell anything";
    EXPECT_LT(planned->gap(), 0.15) << "seed " << seed;
    random.shuffle(graph);
    const auto again = plan(graph, options);
    ASSERT_TRUE(again);
    ASSERT_EQ(*planned, *again) << "seed " << seed;
  }
}

}  // namespace
}  // namespace qgen::planner
