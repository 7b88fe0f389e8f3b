// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A lower bound of the least cost, close to it on graphs of any width, and a first assignment beside it.
//
// Each ray between a leader and a follower gets a price for each of the leader's values. The leader is relieved of it,
// the follower pays it: the sum of no assignment changes. So the least cost of every leader and of every follower by
// itself, added up, is a lower bound of the model's least cost whatever the prices are:
//
//   leader     min over its values v of  cost(v) - sum over its rays of price(v)
//   follower   min over its states s of  cost(s) + sum over its rays of the least price(v) of a v that s fits
//
// A pass visits the leaders in turn. Of each star it learns what each of the leader's values costs the star at best,
// takes that upon itself, and hands equal shares of the sum to those of its stars that have a leader to come. So cost
// travels along the walk to where the choice is made, and back in the next pass. No visit lowers the bound. (Sequential
// reweighted message passing, for stars.)
//
// The bound, in milliseconds of a plan, after so many rounds on two graphs of bench/planner_main.cpp, and the cost of
// the plan that was found with it:
//
//   rounds          1      2      3      5      8     16     40     plan
//   window8      75.4   77.5   78.2   78.9   79.2   79.5   79.7     81.3
//   any          65.5   67.9   68.8   69.6   70.2   70.6   70.9     74.9
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/planner/stars.h"

namespace qgen::planner {

// In picoseconds: between plans of equal time a bound need not decide.
struct Tightened {
  std::vector<int64_t> prices;     // where rays say
  std::vector<int64_t> leaders;    // each value's cost less its prices
  std::vector<int64_t> followers;  // each state's cost with the least prices
  int64_t lower_bound = 0;
};

// Goes forward and back so often, or until a round gains nothing any more. `stars`: as sieve.h leaves them.
Tightened tighten(const Stars& stars, uint32_t rounds);

// The model with prices moved from leaders to fits: to take apart what is left between bound and cost.
ChoiceModel with_prices(ChoiceModel model, const Stars& stars, const Tightened& tight);

// For each leader in turn the value that costs least beside those settled before it, with what the prices say of those
// to come: one value for each leader. Empty: none fits what was settled before it, as may be where conversions are
// missing.
std::vector<uint32_t> round_off(const Stars& stars, Tightened tight);

}  // namespace qgen::planner
