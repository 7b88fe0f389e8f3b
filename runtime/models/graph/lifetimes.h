// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// When the tensors and the scratch of a schedule are live: what plan_memory() places, and what pictures of memory show.
#pragma once

#include "runtime/models/graph/schedule.h"

namespace qgen::graph {

// The tensor in whose memory this one is: itself, unless it shares another's.
uint32_t root_of(const Schedule& schedule, uint32_t tensor);

// Of each tensor, then of the scratch of each step that has some: as MemoryPlan::offsets. `last` may be the number of
// steps: outputs live on after the last one. A tensor that needs no memory in the arena has no bytes: it shares
// another's, or is a state.
std::vector<Lifetime> lifetimes_of(const Schedule& schedule);

}  // namespace qgen::graph
