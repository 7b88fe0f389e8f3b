// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The cost of a step of a schedule in other layouts of its tensors, with the rest of the schedule unchanged. This
// explains the chosen layouts.
//
//   for (const Alternative& one : *alternatives_of(graph, schedule, step, chooser))
//     one.layouts, one.time_us       // {packed_4w4c, packed_4c}, 5.2 us by its best kernel
//     one.copies, one.total_us()     // and 1.7 us for a copy of its input
#pragma once

#include <vector>

#include "runtime/models/graph/schedule.h"

namespace qgen::graph {

struct Alternative {
  struct Copy {
    ValueId value = 0;
    Layout from = Layout::strided, to = Layout::strided;
    double time_us = 0;
  };
  std::vector<Layout> layouts;  // of the node's tensors: inputs, then outputs
  double time_us = 0;           // of the best kernel
  std::vector<Copy> copies;     // that nobody else needs: of inputs, and of outputs for who reads them
  bool is_chosen = false;

  double total_us() const;
};

// The cheapest first; none if no conversion leads to its layouts. `step` is one of a node. Errors: `chooser` has no
// kernel for it.
Expected<std::vector<Alternative>> alternatives_of(const Graph& graph, const Schedule& schedule, const Step& step,
                                                   const Chooser& chooser);

}  // namespace qgen::graph
