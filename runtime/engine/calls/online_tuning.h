// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tuning while a program works: a bounded share of its calls' time is spent on kernels without a measured time, on the
// program's data.
//
//   OnlineTuning online({.share = 0.05});
//   Context context{.profile = ..., .online = &online};
//   ... calls ...
//   online.freeze();                              // from here on the best that is known, and nothing is tried
//   for (const OnlineTime& time : online.times(library)) ...   // to keep, as in a tuning::Store
//
// The first call of a problem runs the choice of select(). Later calls try the next cheapest kernels, a few times each.
// A kernel that takes twice as long as the best is tried only once. The result of a trial is the result of the call:
// kernels are not verified here, as they are by qgen-tune. The whole time of a trial counts, including the compilation
// of its pipeline. If it exceeds the share, the next trial waits until other calls have made up for it.
//
// Times come from the device. On a queue without timestamps, calls run without online tuning; so they do if a kernel is
// forced, or if on_selection is set. Replays of recordings, as of graphs, are not calls, and try nothing. A weight is
// packed for the tried kernel: WeightOptions::max_form_bytes limits the forms that stay.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine/selector/decision_cache.h"

namespace qgen {

struct OnlineOptions {
  double share = 0.05;    // of the time of all calls; 0: nothing is tried
  size_t candidates = 8;  // of a problem, the cheapest; past 4096 problems all are forgotten
  size_t samples = 3;     // of each; the median counts
  std::function<std::chrono::nanoseconds()> now = {};  // empty: the steady clock
};

struct OnlineTime {
  std::string problem;  // key_of()
  std::string kernel;   // Choice::id
  uint64_t digest = 0;  // digest_of()
  double us = 0;
};

class OnlineTuning {
 public:
  // A call's turn: the choice that it runs, from next() until took() or failed().
  struct Turn {
    std::string problem;                   // key_of()
    std::shared_ptr<const Choice> choice;  // null: no kernel fits
    bool is_trial = false;
    bool is_timed = false;  // false: took() needs no time of the device
    std::chrono::nanoseconds began{};
  };

  explicit OnlineTuning(OnlineOptions options);

  // `known`: other known times of the problem. Safe from many threads, as all below.
  Turn next(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
            const KernelTimes& known);
  // It took so long on the device; where it is not timed, as long as calls take.
  void took(const Turn& turn, double device_us);
  // It could not be run: it is not tried again.
  void failed(const Turn& turn);

  void freeze();
  // Of choices that were measured often enough.
  std::vector<OnlineTime> times(const KernelLibrary& library) const;

 private:
  struct Tried {
    std::string id;
    KnownTime known;  // the median of the samples; before the first, as select() had it
    std::vector<double> samples_us = {};
    bool is_done = false;

    bool has_failed() const { return is_done && samples_us.empty(); }
  };
  // Of a problem.
  struct Trials {
    const OperatorInfo* op;
    std::vector<Tried> candidates;  // in select()'s ranking; the first is its choice
  };

  Trials& trials_of(const std::string& key, const Problem& problem, const DeviceProfile& device,
                    const KernelLibrary& library, const KernelTimes& known);
  const Tried* next_trial(const Trials& trials) const;  // null: there is none, or no time for it
  std::shared_ptr<const Choice> choice_of(const Problem& problem, const Tried& tried, const DeviceProfile& device,
                                          const KernelLibrary& library);
  void end(const Turn& turn);

  OnlineOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, Trials, std::less<>> trials_;  // by problem
  std::chrono::nanoseconds all_{}, tried_{};           // the time that calls and trials took
  bool is_frozen_ = false;
  KeptChoices choices_;  // the last choice of each problem
};

}  // namespace qgen
