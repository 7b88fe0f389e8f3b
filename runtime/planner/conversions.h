// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The cheapest ways to have one tensor in several representations.
//
// A copy may be made from a copy: where two readers want a wide image as two packed forms, the second is better made
// from the first, and where no kernel converts directly, a detour does it. So the copies are a tree that grows from the
// form that the tensor is written in, its home, and may pass through forms that nobody reads: a Steiner tree.
//
//   const auto conversions = conversions_of(tensor, held, cost_of_one);
//   conversions->cost(home, to)                              // along the cheapest path
//   CopyTrees(*conversions, {a, b, c}, 2).cost(home, {a, c}) // 2: no set asked for has more than two
//
// Dreyfus and Wagner's recursion: the least tree at v that reaches a set is a path from v to some u, and at u two trees
// that share the set. A set of k among n forms takes 3^k n + 2^k n^2 steps, and k is rarely above 2.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/graph.h"

namespace qgen::planner {

// Microseconds to make a copy of the tensor in `to` from one in `from`; none: there is no such conversion.
using ConversionCost = std::function<std::optional<double>(const Tensor&, Representation from, Representation to)>;

// Ties between plans of equal time: fewer conversions, then the lower sum of ranks of the homes.
constexpr int64_t kTieOfConversion = int64_t{1} << 32;

int64_t to_picoseconds(double us);

struct ConversionStep {
  Representation from, to;
  friend bool operator==(const ConversionStep&, const ConversionStep&) = default;
};

class Conversions {
 public:
  using Matrix = std::array<std::array<Cost, kRepresentations.size()>, kRepresentations.size()>;  // [from][to]

  // `direct` has {} on its diagonal and kImpossible where there is no conversion.
  Conversions(RepresentationSet held, const Matrix& direct);

  RepresentationSet held() const { return held_; }
  Cost cost(Representation from, Representation to) const { return least_[from.row][to.row]; }

  // The conversions of the least tree that has `reached`, each after the one that it starts from.
  std::vector<ConversionStep> steps(Representation home, RepresentationSet reached) const;
  Cost direct(ConversionStep step) const { return direct_[step.from.row][step.to.row]; }

 private:
  friend class CopyTrees;
  void walk(Representation from, Representation to, std::vector<ConversionStep>& steps) const;

  RepresentationSet held_;
  Matrix direct_, least_;
  std::array<std::array<Representation, kRepresentations.size()>, kRepresentations.size()> next_;  // on the way
};

// Between all forms that the device holds. Refuses a cost that is no number from 0 to kMostMicroseconds.
Expected<Conversions> conversions_of(const Tensor& tensor, RepresentationSet held, const ConversionCost& cost);

// The least trees to every subset of `reached` that has at most `most` members.
class CopyTrees {
 public:
  CopyTrees(const Conversions& conversions, RepresentationSet reached, int most);

  Cost cost(Representation home, RepresentationSet subset) const { return at(home, mask(subset)); }

 private:
  friend class Conversions;
  uint32_t mask(RepresentationSet subset) const;
  Cost at(Representation v, uint32_t mask) const { return cost_[mask][v.row]; }
  Cost joined(Representation u, uint32_t mask) const;
  void collect(Representation v, uint32_t mask, std::vector<ConversionStep>& steps) const;

  const Conversions& conversions_;
  std::vector<Representation> reached_;  // bit i of a mask stands for reached_[i]
  std::vector<std::array<Cost, kRepresentations.size()>> cost_;
};

}  // namespace qgen::planner
