// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The state of a tensor: the representation in which it is written, and all those in which copies of it exist.
//
// States are all pairs (home, copies), except those that another state replaces at no higher cost: one that satisfies
// every mode around the tensor that the first satisfies. A tensor that one operator reads in one of two forms has few
// states, even if there are many representations. The order of operators has no effect.
#pragma once

#include <set>
#include <vector>

#include "runtime/models/planner/conversions.h"

namespace qgen::planner {

struct State {
  Representation home;
  RepresentationSet present;  // home, and the copies that somebody may read
  Cost cost;
};

// The representations that modes around a tensor write and read.
struct Surroundings {
  RepresentationSet homes;
  RepresentationSet leaves_as;          // empty: no demand
  std::set<RepresentationSet> offers;   // that modes write
  std::set<RepresentationSet> demands;  // that modes read
  size_t takers = 0;                    // operands that read it, and the caller: no plan needs more copies
  friend auto operator<=>(const Surroundings&, const Surroundings&) = default;
};

// Empty if no conversion leads to a representation that the caller accepts. States of equal cost are ordered by home,
// then by copies.
std::vector<State> states_of(const Surroundings& around, CopyTrees& trees);

}  // namespace qgen::planner
