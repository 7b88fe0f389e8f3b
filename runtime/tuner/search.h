// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which of a problem's candidates are measured, and in what order. Pure: it knows candidates by their ids and the costs
// that their spec estimates, and a laboratory that measures some of them against each other.
//
//   1  all of them, where that fits into the budget; else the cheapest by estimate, and the cheapest of each kind
//      (recipe or family), since an estimate may be wrong about a whole kind
//   2  the neighbours of the best, along one axis: ids that differ in one word (a specialization, a tile, a step's
//      kernel), the nearest values first; and as many more of the cheapest by estimate; until no batch is better
//   3  the best few again, each against the others, for longer: the order that is told
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/timing.h"

namespace qgen::tuner {

struct Candidate {
  std::string id;
  double cost_us = 0;  // estimated
};

// What measures. A candidate that is wrong, hangs or crashes has no time, and is not asked for again.
struct Laboratory {
  // Some candidates against each other, each replayed so often.
  std::function<Expected<std::vector<std::optional<measure::Spread>>>(std::span<const std::string> ids,
                                                                      uint32_t replays)>
      measure;
  std::function<double()> elapsed_s;  // of the budget
};

enum class Strategy : uint8_t { automatic, exhaustive, halving };

struct SearchOptions {
  Strategy strategy = Strategy::automatic;
  double budget_s = 60;
};

struct Measured {
  std::string id;
  double cost_us = 0;
  measure::Spread us;
  bool is_final = false;  // measured for long, against the other best
};

struct SearchResult {
  std::vector<Measured> ranked;  // those of the last stage first, by time
  size_t tried = 0;              // candidates that were asked for
  bool is_exhaustive = false;    // every candidate was
};

// `candidates` by cost. `known`: what was measured before and need not be again.
// Errors: the laboratory's. What was measured until then is lost to the caller, so a laboratory keeps it.
Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options);

// How many steps along one axis lie between two ids: a step doubles a number, or takes another word in a word's place.
// nullopt: they differ in more than one axis, or in none.
//
//   op.tile.m2n4/workgroup64  op.tile.m2n4/workgroup256     2
//   op.tile.m2n4/workgroup64  op.tile.m4n2/workgroup64      2, since a record is one axis
std::optional<double> steps_between(std::string_view a, std::string_view b);

}  // namespace qgen::tuner
