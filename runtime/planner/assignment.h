// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph as choices that must fit together in pairs.
//
//   an operator chooses a mode:  one of its kernels, with one packed dimension and block for each synced group;
//                                costs what the kernel costs
//   a tensor chooses a state:    the representation that it is written in (home), and all those in which copies of it
//                                exist; costs the conversions from home to each copy, once however many read it
//   they fit:                    a mode that writes the tensor must write its home, one that reads it must read one of
//                                its representations
//
// So the graph of choices is the graph itself: an edge for each operand. What a mode takes at each operand is a set, and
// tuples of sets are never multiplied out; a concatenation of 30 inputs is 30 edges.
//
// States are all (home, copies), less those that another state replaces at no higher cost: one that satisfies every
// mode around the tensor that the first satisfies. A tensor that one operator reads in one of two ways has few states,
// whatever its nine representations; modes are thinned the same way.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/graph.h"

namespace qgen::planner {

// Microseconds to make a copy of the tensor in `to` from one in `from`; none: there is no such conversion.
using ConversionCost = std::function<std::optional<double>(const Tensor&, Representation from, Representation to)>;

struct Mode {
  uint32_t kernel = 0;                   // of the node
  std::vector<RepresentationSet> takes;  // at each operand, never empty
  int64_t picoseconds = 0;
};

struct State {
  Representation home;
  RepresentationSet present;  // home and copies
  Cost cost;
};

// A representation that the device cannot hold the tensor in.
struct Dropped {
  std::string tensor;
  Representation representation;
  std::string reason;
  friend bool operator==(const Dropped&, const Dropped&) = default;
};

struct Assignment {
  ResolvedGraph resolved;
  std::vector<Dropped> dropped;
  std::vector<std::vector<Mode>> modes;    // one list a node
  std::vector<std::vector<State>> states;  // one list a tensor
  ChoiceModel model;                       // nodes lead, tensors follow, in their order
};

// Ties between plans of equal time: fewer conversions, then the lower sum of rows of kRepresentations over the homes.
constexpr int64_t kTieOfConversion = int64_t{1} << 32;

int64_t to_picoseconds(double us);

// Refuses an operator none of whose kernels the device or its own synced operands admit, naming the operator, what its
// inputs are offered as, and why each kernel was dropped.
Expected<Assignment> make_assignment(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion);

// For an operator that fits its tensors, but no plan of what comes before it.
Error no_way_to(const Assignment& assignment, uint32_t node);

}  // namespace qgen::planner
