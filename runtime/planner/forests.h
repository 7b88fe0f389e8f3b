// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Improves an assignment where a graph is too wide to be solved at once: a part of it that has no cycle is solved
// exactly, all else staying as it is, and then another part.
//
// In a forest two stars are joined by at most one way through free leaders. Where every operator reads two tensors,
// that frees four leaders in nine. A round takes a fifth to a tenth of the instructions of one of tighten.h.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planner/fitting.h"

namespace qgen::planner {

// Each leader at its cheapest, whatever stands around it.
std::vector<uint32_t> cheapest(const Stars& stars);

// `chosen`: one value for each leader, to which some assignment of the followers fits. Never gets worse.
void improve_by_forests(const Stars& stars, FittingStates& fitting, std::vector<uint32_t>& chosen, uint32_t rounds);

// With each follower at its best; kImpossible and no values where none fits. The bound is left alone.
Minimum completed(const Stars& stars, FittingStates& fitting, const std::vector<uint32_t>& chosen);

}  // namespace qgen::planner
