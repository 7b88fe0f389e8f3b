// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Times several contestants in turn, and decides how often each is replayed (timing.h). A short measurement of each
// gives the length of its chains. Then they are replayed in rounds. It knows no device: a contestant is anything that
// can be recorded and run.
//
//   race(clock, {{.record = ..., .run = ...}, ...}, {.replays = 60})->device_us[0].median
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/workshop/measure/clock.h"

namespace qgen::measure {

struct Spread {  // of microseconds
  double median = 0;
  // A tenth is above the high. At most a tenth is below the low, so it is the least of ten: other programs interrupt
  // most runs on a busy machine.
  double low = 0, high = 0;
  uint32_t samples = 0;  // 1: a first look, and no round
};
Spread spread_of(std::vector<double> samples);

struct TimingOptions {
  uint32_t replays = 60;  // samples of each contestant, at least; with `next_round` at most
  uint32_t chains = 10;   // of each contestant in a round: fewer make more rounds, so more pairs to compare
  double chain_us = 400;  // about the time of a chain: another program interrupts a shorter one less often
  bool is_cold = false;   // the cache, of weights
  // For a search among many. A contestant that takes many times as long as the best, or as `best_us`, keeps the time of
  // its best look and takes part in no round. One whose chains of a round would take longer than `turn_us` has fewer.
  bool is_quick = false;
  double turn_us = 100e3;
  double best_us = 0;  // of another that is known already; 0: none is
  // Called after each round that counts, with Timings::rounds_us so far: who takes part in the next one. If nobody does,
  // the race is over. Empty: all take part in every round.
  std::function<std::vector<bool>(std::span<const std::vector<double>> rounds_us)> next_round;
  // Hears of each turn of a contestant, once it is done, and how many there are at most; may be empty. A round that is
  // made again is counted again. If the race is over early, all turns count as done.
  std::function<void(size_t done, size_t all)> on_turn;
};
// How many turns so many contestants have together: a first look, a round that is not counted, and those that are.
size_t turns_of(const TimingOptions& options, size_t contestants);

struct Timings {
  std::vector<Spread> device_us;  // in the contestants' order
  // Of each contestant its low in each round that counts: another program that interrupts some chains of a round does
  // not count. So contestants are compared in pairs, under the same conditions. One that left has only the first
  // rounds. Empty: it took part in no round.
  std::vector<std::vector<double>> rounds_us;
  ClockLevel clock;  // the lowest in a round that was counted
};

// A chain is a sequence of replays. The first chain of a recording is not counted.
struct Racer {
  std::function<Done(uint32_t chain, uint32_t counted)> record;  // so many replays, so many chains that count
  std::function<Expected<std::vector<double>>()> run;  // the recordings: a replay's share of each counted chain
  uint32_t copies = 1;                                 // of its operands, which one run should come through
};
Expected<Timings> race(SteadyClock& clock, std::span<const Racer> racers, const TimingOptions& options);

}  // namespace qgen::measure
