// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph as choices that must fit together in pairs.
//
//   an operator chooses a mode:  one of its kernels, and what it takes that the device can hold; costs what the kernel
//                                costs
//   a tensor chooses a state:    the representation that it is written in (home), and all those in which copies of it
//                                exist; costs the conversions that make the copies, once however many read them
//   they fit:                    a mode that writes the tensor must write its home, one that reads it must read one of
//                                its representations
//
// So the graph of choices is the graph itself: an edge for each operand. What a mode takes at each operand is a set,
// and tuples of sets are never multiplied out; a concatenation of 30 inputs is 30 edges.
#pragma once

#include <vector>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/modes.h"
#include "runtime/planner/states.h"

namespace qgen::planner {

struct Assignment {
  ResolvedGraph resolved;
  std::vector<RepresentationSet> held;     // one for each tensor: those that the device can hold it in
  std::vector<std::vector<Mode>> modes;    // one list for each node
  std::vector<std::vector<State>> states;  // one list for each tensor
  ChoiceModel model;                       // nodes lead, tensors follow, in their order
};

// Refuses an operator none of whose kernels the device admits, naming the operator, what its inputs are offered as, and
// why each kernel cannot run.
Expected<Assignment> make_assignment(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion);

// For an operator that fits its tensors, although no plan of what comes before it fits.
Error no_way_to(const Assignment& assignment, uint32_t node);

}  // namespace qgen::planner
