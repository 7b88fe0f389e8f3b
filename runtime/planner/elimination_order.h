// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// In which order choices are eliminated. It is found on the graph of choices alone, before any table is made, and
// decides everything: on 64 tensors, each read by operators at most eight places later, the additions that elimination
// takes are 2^38 in the first order below and 2^28 in the second.
//
//   least table first   the choice whose table is smallest goes
//   least fill first    the choice goes whose neighbours know each other best already: the least sum, over those pairs
//                       of them that do not, of the product of both sizes' logarithms
//   attempts            the same with distorted sums, and the order with the fewest additions is kept
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/planner/choice_model.h"

namespace qgen::planner {

struct EliminationOrder {
  std::vector<uint32_t> choices;   // the first goes first
  std::vector<uint32_t> too_wide;  // those whose table would pass the limit, in their order
  uint64_t work = 0;               // additions, with no table past the limit
};

// None: the additions would reach `most_work`. Ties go by index. A choice with one value takes no room in any table.
// Past the limit the graph is no longer filled in, since the messages of a split bucket stay small; without that, a
// dense graph of 10,000 operators would spend its second on fill edges.
constexpr double kAnyWork = std::numeric_limits<double>::infinity();
std::optional<EliminationOrder> order_by_table(const ChoiceModel& model, uint64_t table_cells, double most_work);
std::optional<EliminationOrder> order_by_fill(const ChoiceModel& model, uint64_t table_cells, double most_work);

// For small models: filled in without a limit.
std::optional<EliminationOrder> order_by_attempts(const ChoiceModel& model, uint64_t table_cells, uint32_t attempts,
                                                  double most_work);

// What these choices in this order take under a limit.
EliminationOrder weigh(const ChoiceModel& model, std::vector<uint32_t> choices, uint64_t table_cells);

}  // namespace qgen::planner
