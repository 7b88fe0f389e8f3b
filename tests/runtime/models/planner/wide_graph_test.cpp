// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Plans of graphs that are too wide for tables: sound, above their own bound, below the greedy rule's result, and the
// same for every order of insertion.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/sanitizers.h"
#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/random_graph.h"
#include "tests/runtime/models/planner/slow_planner.h"

namespace qgen::planner {
namespace {

using testing::judge;
using testing::RandomGraph;

TEST(WideGraphs, PlansAreSoundAndBetterThanGreedyOnes) {
  const DeviceModel device;
  const ConversionCost conversion = testing::copy_cost();
  for (uint32_t seed = 0; seed < (QGEN_SANITIZED ? 1 : 3); ++seed) {
    RandomGraph random(seed);
    Graph graph = random.make(600, 4, /*may_agree=*/false);  // so that there is a plan
    const auto planned = plan(graph, device, conversion);
    ASSERT_TRUE(planned) << planned.error().message;
    const auto verdict = judge(graph, device, conversion, *planned);
    ASSERT_EQ(verdict.fault, "") << "seed " << seed;
    ASSERT_EQ(std::llround(planned->cost_us * 1e6), std::get<0>(verdict.rank)) << "seed " << seed;
    EXPECT_LT(planned->lower_bound_us, planned->cost_us) << "seed " << seed << ": not wide enough to tell anything";
    EXPECT_LT(planned->gap(), 0.15) << "seed " << seed;
    const auto greedy = testing::greedy_cost_us(graph, conversion);
    ASSERT_TRUE(greedy) << "seed " << seed;
    EXPECT_LT(planned->cost_us, *greedy) << "seed " << seed;
    random.shuffle(graph);
    const auto again = plan(graph, device, conversion);
    ASSERT_TRUE(again);
    ASSERT_EQ(*planned, *again) << "seed " << seed;
  }
}

}  // namespace
}  // namespace qgen::planner
