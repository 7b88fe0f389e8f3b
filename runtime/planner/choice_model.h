// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Choices that must fit together in pairs, and the least sum of their costs. Knows nothing of tensors: the planner says
// what a choice is (assignment.h), this says which choices are best.
//
//   ChoiceModel model;
//   model.costs = {{3, 1}, {0, 5}};                       // two choices with two values each
//   model.fits = {{0, 1, {0b01, 0b10}, {0b01, 0b11}}};    // value i of 0 fits value j of 1 if their masks meet
//   minimize(model)                                       // values {0, 0}: 3; the 1 of choice 0 fits only the 5
//
// How: choices are eliminated one by one. Eliminating v adds up every table that mentions v and keeps, for each value
// of its neighbours, the least over v: exact, at the price of a table over the neighbours. A chain costs one small
// table for each choice; a residual network tables over three; in general the price is exponential in the graph's
// treewidth.
//
// Where that would take too long, no table is made. Costs are moved between leaders and followers by prices, which
// changes no assignment's sum but raises the sum of what each costs at least (tighten.h): a lower bound of the least
// cost within a few per cent, on graphs of any width. An assignment is read off the prices, and one part of it after
// another is solved exactly beside the rest (forests.h).
//
// If the optimum must be proven, or nearly all tables fit, tables follow, with the prices in them. One that would pass
// the limit is not made: its summands are split into groups, each minimised by itself (mini-buckets). For any f and g,
// min(f + g) >= min f + min g: the left side has one minimiser, which the right side may choose anew for each summand.
// So every split can only lower the result, and what the tables say of a partial assignment is a lower bound of all
// that completes it. Depth-first branch and bound, in the reverse of the elimination's order, cuts a branch when its
// bound reaches the best assignment known, and ends with the optimum and a proof, or at its limit.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace qgen::planner {

// What a choice costs. Whole numbers, so that sums are the same in any order and a tie is a tie; `tie` decides among
// equal times.
struct Cost {
  int64_t picoseconds = 0;
  int64_t tie = 0;
  friend constexpr auto operator<=>(const Cost&, const Cost&) = default;
};

// Larger than any sum of possible costs, and so small that 256 of it can be added up before it is looked at.
constexpr int64_t kImpossiblePicoseconds = int64_t{1} << 54;
constexpr Cost kImpossible{kImpossiblePicoseconds, 0};

constexpr bool is_possible(Cost cost) { return cost.picoseconds < kImpossiblePicoseconds / 2; }
constexpr Cost operator+(Cost a, Cost b) {
  return is_possible(a) && is_possible(b) ? Cost{a.picoseconds + b.picoseconds, a.tie + b.tie} : kImpossible;
}
constexpr Cost operator-(Cost a, Cost b) { return {a.picoseconds - b.picoseconds, a.tie - b.tie}; }

struct ChoiceModel {
  // Value i of `a` fits value j of `b` if a_masks[i] & b_masks[j] is not zero. A pair that fits adds a_costs[i] +
  // b_costs[j], where there are any.
  struct Fit {
    uint32_t a = 0, b = 0;
    std::vector<uint32_t> a_masks, b_masks;
    std::vector<Cost> a_costs = {}, b_costs = {};
  };
  std::vector<std::vector<Cost>> costs;  // costs[choice][value]
  std::vector<Fit> fits;                 // of a leader `a` and a follower `b`
  uint32_t leaders = 0;                  // the choices before this one lead, the others follow
  std::vector<uint32_t> walk;            // the leaders, those near each other that share followers; empty: by index
};

struct MinimizeOptions {
  uint64_t table_cells = uint64_t{1} << 20;   // of the largest table
  uint64_t work = uint64_t{1} << 26;          // cells of all tables together; 2^26 take half a second
  uint64_t search_steps = uint64_t{1} << 18;  // values that branch and bound tries before it makes larger tables
  // Search until the optimum is proven, with tables of up to 2^24 cells, however long it takes.
  bool until_proven = false;
};

struct Minimum {
  std::vector<uint32_t> values;  // one for each choice; empty: none was found
  Cost cost = kImpossible;
  Cost lower_bound;  // kImpossible: proven that nothing fits
};

// The same model gives the same answer: no clock, no randomness, no address decides anything. Where cost and tie are
// both equal, the lower value of the choice that is eliminated last wins; that order depends on the model alone.
Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options = {});

}  // namespace qgen::planner
