// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small random models: elimination equals trying all assignments, and with choices set apart the result stays between
// bound and best.
#include "runtime/models/planner/choice_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace qgen::planner {
namespace {

ChoiceModel random_model(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  ChoiceModel model;
  const uint32_t choices = 2 + below(6);
  for (uint32_t choice = 0; choice < choices; ++choice) {
    auto& costs = model.costs.emplace_back(1 + below(3));
    for (Cost& cost : costs) cost = {.picoseconds = below(9), .tie = below(3)};
  }
  model.leaders = choices / 2;
  for (uint32_t count = below(12); count > 0; --count) {
    ChoiceModel::Fit fit{.a = below(choices), .b = 0};
    fit.b = (fit.a + 1 + below(choices - 1)) % choices;
    for (size_t value = 0; value < model.costs[fit.a].size(); ++value) fit.a_masks.push_back(1 + below(7));
    for (size_t value = 0; value < model.costs[fit.b].size(); ++value) fit.b_masks.push_back(1 + below(7));
    model.fits.push_back(fit);
  }
  return model;
}

Cost cost_of(const ChoiceModel& model, const std::vector<uint32_t>& values) {
  Cost cost;
  for (size_t choice = 0; choice < values.size(); ++choice) cost = cost + model.costs[choice][values[choice]];
  for (const auto& fit : model.fits) {
    if ((fit.a_masks[values[fit.a]] & fit.b_masks[values[fit.b]]) == 0) cost = cost + kImpossible;
  }
  return cost;
}

Cost least_cost(const ChoiceModel& model, std::vector<uint32_t> values = {}) {
  if (values.size() == model.costs.size()) return cost_of(model, values);
  values.push_back(0);
  Cost least{.misfits = INT32_MAX};
  for (; values.back() < model.costs[values.size() - 1].size(); ++values.back())
    least = std::min(least, least_cost(model, values));
  return least;
}

TEST(ChoiceModels, AreMinimizedLikeByTryingAll) {
  uint32_t impossible = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const ChoiceModel model = random_model(seed);
    const Cost least = least_cost(model);
    impossible += is_possible(least) ? 0 : 1;
    const Minimum exact = minimize(model);
    ASSERT_EQ(exact.cost, least) << "seed " << seed;
    ASSERT_EQ(exact.lower_bound, least) << "seed " << seed;
    ASSERT_EQ(cost_of(model, exact.values), least) << "seed " << seed;

    const Minimum narrow = minimize(model, {.table_cells = 4});
    ASSERT_EQ(cost_of(model, narrow.values), narrow.cost) << "seed " << seed;
    ASSERT_GE(narrow.cost, least) << "seed " << seed;
    if (!is_possible(least)) continue;
    ASSERT_TRUE(is_possible(narrow.lower_bound)) << "seed " << seed;
    ASSERT_LE(narrow.lower_bound.picoseconds, least.picoseconds) << "seed " << seed;
  }
  EXPECT_GT(impossible, 100u);
  EXPECT_LT(impossible, 1900u);
}

// A thousand values of which others see two classes: tables have a row for each class, so small ones are enough.
TEST(ChoiceModels, AreExactInTablesOfClasses) {
  std::mt19937 random(1);
  ChoiceModel model;
  for (int choice = 0; choice < 5; ++choice) {
    auto& costs = model.costs.emplace_back(1000);
    for (Cost& cost : costs) cost = {.picoseconds = static_cast<int64_t>(random() % 1000)};
  }
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = a + 1; b < 5; ++b) {
      ChoiceModel::Fit fit{.a = a, .b = b};
      for (uint32_t value = 0; value < 1000; ++value) {
        fit.a_masks.push_back(value < 500 ? 1 : 2);
        fit.b_masks.push_back(value < 500 ? 2 : 1);
      }
      model.fits.push_back(fit);
    }
  }
  // No three of them fit in pairs, so of ten pairs four do not fit: at best two choices are on the one side, three on
  // the other.
  const Minimum exact = minimize(model, {.table_cells = 1000 * 2 * 2 * 2 * 2});
  EXPECT_EQ(exact.cost.misfits, 4);
  EXPECT_EQ(exact.cost, exact.lower_bound);
  EXPECT_EQ(cost_of(model, exact.values), exact.cost);
}

}  // namespace
}  // namespace qgen::planner
