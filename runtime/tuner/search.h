// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which of a problem's candidates are measured, and in what order. Pure: it knows candidates by their ids and the costs
// that their spec estimates, and a laboratory that measures some of them against each other.
//
// Each batch takes the candidates that are expected to be fastest. What is expected of one is its estimate, times what
// those measured so far took beside their own estimates: those like it (likeness()) count for more, and one like none
// of them is given a bonus, since it may surprise. So the first is the estimate's choice; then come other
// specializations of what was best, and recipes that estimates or their like say to be far slower come last.
//
//   1  all of them, where that fits into the budget; else batches as long as one brings a gain
//   2  the first of each kind (recipe or family) of which none was measured, since an estimate may be wrong about a
//      whole kind; and more batches, where one of them is better
//   3  the best few again, each against the others, for longer: the order that is told
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/timing.h"
#include "runtime/tuner/shares.h"

namespace qgen::tuner {

struct Candidate {
  std::string id;
  double cost_us = 0;  // estimated
};

// Candidates that were measured together.
struct Batch {
  std::vector<std::optional<measure::Spread>> us;  // as they were asked for; none of one that is wrong or crashes
  double compiling_s = 0;                          // of the time that it took
};

// What measures. A candidate without a time is not asked for again.
struct Laboratory {
  // Some candidates against each other, each replayed so often. `best_us`: of what was measured before; 0: nothing was.
  std::function<Expected<Batch>(std::span<const std::string> ids, uint32_t replays, double best_us)> measure;
  std::function<double()> elapsed_s;  // of the budget
  // What will be asked for after the next measure(), if its times bring no surprise: there may be time to compile it.
  std::function<void(std::vector<std::string> ids)> expect = {};
};

enum class Strategy : uint8_t { automatic, exhaustive, halving };

struct SearchOptions {
  Strategy strategy = Strategy::automatic;
  size_t batch = 8;  // candidates that are compiled at once and measured against each other
  Share share;
};
// An exhaustive search has no end but its candidates'.
double budget_of(Strategy strategy, double budget_s);

struct Measured {
  std::string id;
  double cost_us = 0;
  measure::Spread us;
  bool is_final = false;  // measured for long, against the other best
};

struct SearchResult {
  std::vector<Measured> ranked;  // those of the last stage first, by time
  size_t tried = 0;              // candidates that were asked for
  Pace pace;                     // of the first; 0: none was asked for
  bool is_exhaustive = false;    // every candidate was
};

// `candidates` by cost. `known`: what was measured before and need not be again.
// Errors: the laboratory's. What was measured until then is lost to the caller, so a laboratory keeps it.
Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options);

// How much the time of one candidate says of another's, by their ids: 1 of the same, less with each step that lies
// between. A step doubles a number, or takes another word in a word's place.
//
//   op.tile.m2n4/workgroup64  op.tile.m2n4/workgroup256     two steps
//   op.tile.m2n4/workgroup64  op.tile.m4n2/workgroup128     three
//   op.tile.m2n4/workgroup64  op.plain                      another kind: next to nothing
double likeness(std::string_view a, std::string_view b);

}  // namespace qgen::tuner
