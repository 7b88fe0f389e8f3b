// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The least trees of copies, against all of them.
#include "runtime/models/planner/conversions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace qgen::planner {
namespace {

// For every set of forms, the least cost of making them from home: the last was made from one that was there.
std::vector<Cost> all_sets(const CopyTrees::Matrix& direct, Representation home) {
  std::vector<Cost> least(any_representation().bits() + 1, kImpossible);
  least[RepresentationSet(home).bits()] = {};
  for (uint32_t bits = 0; bits < least.size(); ++bits) {
    const auto set = RepresentationSet::from_bits(bits);
    if (!set.contains(home)) continue;
    for (Representation last : set - home) {
      for (Representation from : set - last) {
        least[bits] = std::min(least[bits], least[(set - last).bits()] + direct[from.row()][last.row()]);
      }
    }
  }
  return least;
}

Cost least_with(const std::vector<Cost>& sets, RepresentationSet needed) {
  Cost least = kImpossible;
  for (uint32_t bits = 0; bits < sets.size(); ++bits) {
    if ((bits & needed.bits()) == needed.bits()) least = std::min(least, sets[bits]);
  }
  return least;
}

CopyTrees::Matrix random_matrix(std::mt19937& random) {
  CopyTrees::Matrix direct;
  for (size_t from = 0; from < direct.size(); ++from) {
    for (size_t to = 0; to < direct.size(); ++to) {
      direct[from][to] =
          random() % 4 == 0 ? kImpossible : Cost{0, static_cast<int64_t>(random() % 9), kTieOfConversion};
    }
    direct[from][from] = {};
  }
  return direct;
}

TEST(Conversions, TreesAreLeast) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto direct = random_matrix(random);
    CopyTrees trees(any_representation(), direct);
    for (Representation home : any_representation()) {
      const auto sets = all_sets(direct, home);
      const auto useful = RepresentationSet::from_bits(random() & any_representation().bits()) - home;
      for (uint32_t bits = useful.bits();; bits = (bits - 1) & useful.bits()) {
        const auto subset = RepresentationSet::from_bits(bits);
        if (subset.size() <= 3) {
          ASSERT_EQ(trees.cost(home, subset), least_with(sets, subset | home)) << "seed " << seed;
        }
        if (bits == 0) break;
      }
    }
  }
}

TEST(Conversions, StepsMakeTheTree) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto direct = random_matrix(random);
    CopyTrees trees(any_representation(), direct);
    const auto home = RepresentationSet::from_bits(1u << random() % kRepresentationCount).first();
    const auto wanted = RepresentationSet::from_bits(random() & any_representation().bits());
    const Cost least = least_with(all_sets(direct, home), wanted | home);
    if (!is_possible(least)) continue;
    RepresentationSet present = home;
    Cost sum;
    for (const ConversionStep& step : trees.steps(home, wanted)) {
      ASSERT_TRUE(present.contains(step.from)) << "seed " << seed;
      ASSERT_FALSE(present.contains(step.to)) << "seed " << seed;
      present = present | step.to;
      sum = sum + trees.direct(step);
    }
    ASSERT_TRUE((wanted - present).empty()) << "seed " << seed;
    ASSERT_EQ(sum, least) << "seed " << seed;
  }
}

}  // namespace
}  // namespace qgen::planner
