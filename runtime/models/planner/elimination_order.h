// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order in which choices are eliminated: the one with
// the smallest table first. It is found before any table is
// made.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/models/planner/value_classes.h"

namespace qgen::planner {

struct EliminationOrder {
  std::vector<uint32_t> apart;    // including choices with one value, where there is nothing to choose
  std::vector<uint32_t> choices;  // all others, the first goes first
  uint64_t work = 0;              // cells of all tables
  bool is_exact = true;           // nothing that has two values is apart
};

// `turns`: how often each choice was set apart before; is updated. Those that were least often go first. Other ties go
// by index.
EliminationOrder elimination_order(const ChoiceModel& model, const std::vector<FitClasses>& classes,
                                   uint64_t table_cells, std::vector<uint32_t>& turns);

}  // namespace qgen::planner
