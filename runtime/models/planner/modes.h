// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A mode of an operator: a kernel, with the representations of each operand that it and the device support.
//
// A mode has a set of representations for each operand. The combinations of these sets are never listed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/models/planner/graph.h"

namespace qgen::planner {

struct Mode {
  uint32_t kernel = 0;                   // of the node
  std::vector<RepresentationSet> takes;  // at each operand, never empty
  int64_t picoseconds = 0;
};

struct Modes {
  // Without those that another mode replaces: takes at least as much at every operand, costs no more. Of equals the
  // first stays.
  std::vector<Mode> list;
  std::vector<std::string> refusals;  // one for each kernel that has no mode
};

// `held`: for each operand, the representations that the device can hold its tensor in.
Modes modes_of(const Node& node, const std::vector<RepresentationSet>& held);

}  // namespace qgen::planner
