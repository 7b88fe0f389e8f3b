// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds choices with the least sum of costs, where costs depend on pairs of choices. It knows nothing of tensors: the
// planner defines a choice (assignment.h), and this finds the best ones.
//
//   ChoiceModel model;
//   model.costs = {{us(3), us(1)}, {us(0), us(5)}};       // two choices with two values each
//   model.fits = {{0, 1, {0b01, 0b10}, {0b01, 0b11}}};    // value i of 0 fits value j of 1 if their masks meet
//   minimize(model)                                       // values {0, 0}: 3; the 1 of choice 0 fits only the 5
//
// Choices are eliminated one by one. Eliminating v adds up every table with v and keeps, for each combination of values
// of its neighbours, the least over v. This is exact, but needs a table over v and its neighbours. A chain needs one
// small table for each choice, and a residual network tables over three. In general the cost is exponential in the
// graph's treewidth. Values that a table does not distinguish share its rows (value_classes.h).
//
// If a table would be too large, one of its choices is set apart: it keeps its value, and the others are eliminated.
// So a part of the graph is solved exactly while the rest stays the same. Then another part is solved, with other
// choices set apart, until some rounds in a row gain nothing. The cost never rises, but it may not reach the least
// one.
//
// In the first round there are no values to keep. There, a choice set apart is divided: each fit gets a copy of it with
// an equal share of its cost, and the copies may differ. A sum of minima is never above the minimum of the sum. So the
// result of this elimination is a lower bound of the least cost. Its values, with the best fitting ones for the choices
// set apart, are the first assignment.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace qgen::planner {

// The cost of a choice. Whole numbers, so that sums are the same in any order and a tie is a tie.
struct Cost {
  int64_t misfits = 0;  // pairs that do not fit, and conversions that do not exist; of a plan 0
  int64_t picoseconds = 0;
  int64_t tie = 0;  // decides among equal times
  friend constexpr auto operator<=>(const Cost&, const Cost&) = default;
};

constexpr Cost kImpossible{.misfits = 1};
constexpr bool is_possible(Cost cost) { return cost.misfits == 0; }
constexpr Cost operator+(Cost a, Cost b) {
  return {a.misfits + b.misfits, a.picoseconds + b.picoseconds, a.tie + b.tie};
}

struct ChoiceModel {
  // Value i of `a` fits value j of `b` if a_masks[i] & b_masks[j] is not zero.
  struct Fit {
    uint32_t a = 0, b = 0;
    std::vector<uint32_t> a_masks, b_masks;
  };
  std::vector<std::vector<Cost>> costs;  // costs[choice][value]
  std::vector<Fit> fits;
  uint32_t leaders = 0;  // the choices before this one lead, and are set apart rather than those that follow them
};

struct MinimizeOptions {
  uint64_t table_cells = uint64_t{1} << 22;  // of the largest table
};

struct Minimum {
  std::vector<uint32_t> values;  // one for each choice
  Cost cost;                     // if that is impossible: with the fewest misfits that were found
  Cost lower_bound;              // the cost itself where nothing was set apart; impossible: proven that nothing fits
};

// The same model gives the same answer: no clock, no randomness, no address decides anything. Where cost and tie are
// both equal, the lower value of the choice that is eliminated last wins; that order depends on the model alone.
Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options = {});

}  // namespace qgen::planner
