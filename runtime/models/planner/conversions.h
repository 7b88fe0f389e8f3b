// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The cheapest conversions that make one tensor available in several representations.
//
// A copy may be made from another copy: if two readers need a wide image in two packed layouts, the second is cheaper
// to make from the first. If no kernel converts directly, a detour does. So the copies are a tree that grows from the
// form that the tensor is written in, its home. The tree may contain forms that no operator reads: it is a Steiner
// tree.
//
//   CopyTreesOf trees_of(cost_of_one);
//   const auto trees = trees_of(tensor, held);
//   (*trees)->cost(home, {a, c})   // of the tree that reaches both
//   (*trees)->steps(home, {a, c})  // its conversions
//
// It uses Dreyfus and Wagner's recursion: the least tree at v that reaches a set is a path from v to some u, and at u
// two trees that share the set. A set of k among n forms takes 3^k n + 2^k n^2 steps, and k is rarely above 2. Results
// are kept, and tensors with the same conversion costs share them. Most tensors of a graph do.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/models/planner/choice_model.h"
#include "runtime/models/planner/graph.h"

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

class CopyTrees {
 public:
  using Matrix = std::array<std::array<Cost, kRepresentationCount>, kRepresentationCount>;  // [from][to]

  // `direct` has {} on its diagonal and kImpossible where there is no conversion.
  CopyTrees(RepresentationSet held, const Matrix& direct, uint32_t number = 0);

  uint32_t number() const { return number_; }  // the same, the same trees
  Cost direct(ConversionStep step) const { return direct_[step.from.row()][step.to.row()]; }

  // Of the least tree that has `reached`.
  Cost cost(Representation home, RepresentationSet reached) { return at(home, (reached - home).bits()); }
  // Its conversions, each after the one that it starts from.
  std::vector<ConversionStep> steps(Representation home, RepresentationSet reached);

 private:
  using Row = std::array<Cost, kRepresentationCount>;  // of each home

  Cost at(Representation v, uint32_t set) { return row_of(set)[v.row()]; }
  const Row& row_of(uint32_t set);
  Cost joined(Representation u, uint32_t set);
  void collect(Representation v, uint32_t set, std::vector<ConversionStep>& steps);

  RepresentationSet held_;
  uint32_t number_;
  Matrix direct_, least_;                                                                    // least_: along a path
  std::array<std::array<Representation, kRepresentationCount>, kRepresentationCount> next_;  // on that path
  std::vector<uint16_t> place_;  // of a set's row in rows_; 0: not yet there
  std::vector<Row> rows_;
};

// The copy trees of tensors. The returned value is valid until the next call.
class CopyTreesOf {
 public:
  explicit CopyTreesOf(const ConversionCost& cost) : cost_(cost) {}

  // Between all forms that the device holds. Refuses a cost that is no number from 0 to kMostMicroseconds.
  Expected<CopyTrees*> operator()(const Tensor& tensor, RepresentationSet held);

 private:
  const ConversionCost& cost_;
  std::map<CopyTrees::Matrix, CopyTrees> known_;
  uint32_t count_ = 0;
};

}  // namespace qgen::planner
