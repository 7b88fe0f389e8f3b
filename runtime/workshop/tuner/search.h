// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order in which a problem's candidates are measured, and which are measured at all. Pure: it knows the ids and
// costs of candidates, and a laboratory that measures some of them against each other.
//
// Each batch takes the candidates with the shortest expected times. The expected time is the estimate, corrected by the
// measured candidates: by the ratio of time to estimate of the similar ones most (similarity()). A candidate that is
// similar to none gets a bonus, since it may surprise. So the first is the choice by estimates. Then come other
// specializations of the best. Recipes that are expected to be far slower come last.
//
//   1  all candidates, if that fits into the budget; else batches as long as one brings a gain
//   2  one candidate of each kind (recipe or family) that has no measured one, since an estimate may be wrong about a
//      whole kind; more batches if one of them gains
//   3  the final round: the best few again, against each other, for longer. The choice by estimates takes part, and the
//      best of earlier runs. The candidates of this round rank ahead of all others, since a time of another round may be
//      of a quieter machine. final_round.h chooses among them. The other stages leave it a share of the budget
//
// A short round counts by its low (short_us()). Other programs can interrupt most runs of such a round, and then its
// median is many times the kernel's time.
//
// The search goes to its final round as soon as the best is nearly as fast as the device's rates allow
// (SearchOptions::roof_us). An exhaustive search goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/workshop/measure/timing.h"
#include "runtime/workshop/tuner/shares.h"

namespace qgen::tuner {

struct Candidate {
  std::string id;
  double cost_us = 0;           // estimated
  bool is_rarely_best = false;  // on such devices, by its spec: for exhaustive searches alone
};

// Candidates that were measured together. Those of the final round have the times that settle() leaves them.
struct Batch {
  std::vector<std::optional<measure::Spread>> us;  // in the order of the ids; none if it is wrong or crashes
  double compiling_s = 0, verifying_s = 0;         // of the time that it took
};

// How candidates are timed against each other: shortly, or in a final round.
struct Round {
  double best_us = 0;  // the best time of earlier short rounds; 0: there is none
  bool is_final = false;
  // Of a final round: no pass begins that would end later. Of a short one: if verifying takes longer, nothing is timed
  // any more, so that the time of the final round is kept. 0: unlimited.
  double within_s = 0;
};

// The time of a candidate by a short round.
constexpr double short_us(const measure::Spread& us) { return us.low; }

// Measures candidates. One that got no time is not requested again.
struct Laboratory {
  std::function<Expected<Batch>(std::span<const std::string> ids, const Round& round)> measure;
  std::function<double()> elapsed_s;  // of the budget
  // The ids of the measure() after the next, if the next brings no surprise: there may be time to compile them.
  std::function<void(std::vector<std::string> ids)> expect = {};
};

enum class Strategy : uint8_t { automatic, exhaustive, batches };

struct SearchOptions {
  Strategy strategy = Strategy::automatic;
  size_t batch = 8;  // candidates that are compiled at once and measured against each other
  // The time in which the device could do it at its measured rates (roof.h). 0: not known.
  double roof_us = 0;
  Share share;
};
// An exhaustive search has no budget.
double budget_of(Strategy strategy, double budget_s);

struct Measured {
  std::string id;
  double cost_us = 0;
  measure::Spread us;
  bool is_final = false;  // of the newest final
  size_t round = 0;       // times of one round were measured against each other; 0: known before
};

struct SearchResult {
  std::vector<Measured> ranked;  // by is_before()
  size_t tried = 0;              // candidates that were requested
  Pace pace;                     // of the first batch; 0: there was none
  bool is_exhaustive = false;    // every candidate was requested
  bool is_at_roof = false;       // it ended since no kernel could be much faster
};
// A search ends at a time this many times as long as the roof.
constexpr double kNearRoof = 1.1;

// The order of measured candidates: first those of the final round, then by time. The same as tuning::order_of().
bool is_before(const Measured& a, const Measured& b);

// `candidates` by cost. `known`: earlier times, which need not be measured again. Errors: the laboratory's. Earlier
// measurements are lost to the caller, so a laboratory keeps them.
Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options);

// How much the time of one candidate says about another's, by their ids: 1 if they are equal, less with each step
// between them. A step doubles a number, or replaces a word by another.
//
//   op.tile.m2n4/workgroup64  op.tile.m2n4/workgroup256     two steps
//   op.tile.m2n4/workgroup64  op.tile.m4n2/workgroup128     three
//   op.tile.m2n4/workgroup64  op.plain                      another kind: next to nothing
double similarity(std::string_view a, std::string_view b);

}  // namespace qgen::tuner
