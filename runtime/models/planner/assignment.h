// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Turns a graph into choices whose costs depend on pairs of them.
//
//   an operator chooses a mode:  one of its kernels, and what it takes that the device can hold; costs what the kernel
//                                costs
//   a tensor chooses a state:    the representation that it is written in (home), and all those in which copies of it
//                                exist; costs the conversions that make the copies, once however many read them
//   they fit:                    a mode that writes the tensor must write its home, one that reads it must read one of
//                                its representations
//
// So the graph of choices is the graph itself: an edge for each operand. A mode has a set of representations for each
// operand, and tuples of sets are never multiplied out; a concatenation of 30 inputs is 30 edges.
#pragma once

#include <vector>

#include "runtime/models/planner/choice_model.h"
#include "runtime/models/planner/modes.h"
#include "runtime/models/planner/states.h"

namespace qgen::planner {

struct Assignment {
  ResolvedGraph resolved;
  std::vector<RepresentationSet> held;     // one for each tensor: those that the device can hold it in
  std::vector<std::vector<Mode>> modes;    // one list for each node
  std::vector<std::vector<State>> states;  // one list for each tensor
  ChoiceModel model;                       // nodes lead, tensors follow, in their order
};

// Error: no kernel of an operator can run on the device. It names the operator, the possible representations of its
// inputs, and the reason for each kernel.
Expected<Assignment> make_assignment(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion);

// Error for an operator that has a kernel for its tensors, if no plan of the operators before it fits it.
Error no_way_to(const Assignment& assignment, uint32_t node);

}  // namespace qgen::planner
