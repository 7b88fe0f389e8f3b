// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tunes problems one after the other. A worker measures the candidates that search.h requests, and every time is stored
// at once. A candidate that crashes, hangs or gives wrong results is quarantined.
//
//   Tuner tuner(store, {.worker = {...}});
//   Expected<TaskReport> report = tuner.tune({"q8ta_linear", {...}}, {.budget_s = 60});
//
// An interrupted tuning continues: kernels that have times for this device and driver in the store are not measured
// again.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>

#include "runtime/engine/tuning/store.h"
#include "runtime/workshop/runner/task.h"
#include "runtime/workshop/tuner/relatives.h"
#include "runtime/workshop/tuner/search.h"
#include "runtime/workshop/tuner/supervisor.h"

namespace qgen::tuner {

struct Dropped {
  std::string kernel;
  std::string reason;
};

struct TaskReport {
  std::string problem;  // key_of()
  std::string device;
  tuning::DeviceKey device_key;
  std::string profile;  // of the device, as YAML
  size_t candidates = 0;
  size_t left_out = 0;  // others, which were rarely the best on such devices (Candidate)
  SearchResult found;   // in the store's order: programs choose the first
  // The store has times with a cold cache, by which programs choose; these times are with a warm one.
  bool has_cold_times = false;
  std::optional<Measured> untuned;  // the choice by estimates; only if it was timed in the same round as the best
  std::vector<Dropped> dropped;     // now or before
  size_t ties = 0;                  // that tied with the best in the final; the smallest estimate of them is first
  double roof_us = 0;               // SearchOptions::roof_us
  // The device's base time (measure::base_us()) at the start, and before and after each final; 0: unknown.
  std::vector<double> base_us;
  std::vector<double> counted_base_us;  // of these, those that results are weighed by
  uint32_t finals = 0;                  // how often the final was measured
  double clock = 1;                     // TunedRow's, in the final that counts
  std::vector<std::string> suspicions;  // why the reference may be wrong (verifier.h)
  size_t by_relatives = 0;              // of those found: verified on small relatives only (verifier.h)
  double most_s = 0;                    // the time that its first candidate may take, with opening the problem
  double opened_s = 0;                  // to make the problem's data and references; part of the budget
  double seconds = 0;                   // in all
};
// The error of an interrupted tuning.
Error interrupted();
// Whether there was no time to measure any kernel.
bool is_untried(const TaskReport& report);
// The reason why a report has no times: the budget, or every candidate was dropped. Empty: it has times.
std::string why_nothing(const TaskReport& report);

// By what part the device's base times differ: 0.04. Unknown ones, which are 0, do not count.
double drift_of(std::span<const double> base_us);
// A device whose rates change by more than this during a tuning has drifted: it throttles, or shares. If it was slower
// around the final round than at another time, the final is measured again, as long as there is time. The steadier one
// counts. More finals than two would take long on a busy machine. Rows that were measured on a slower device are marked.
constexpr double kDrift = 0.03;
constexpr uint32_t kMostFinals = 2;

// Progress, for display. `done` of `all` candidates of the stage, or of their timed replays.
struct TunerEvent {
  std::string_view stage;  // "open", "compile", "verify", "time", "dropped"
  std::string text;        // of "dropped", which and why
  size_t done = 0, all = 0;
  // For the problem so far, without dropped ones; empty: none has a time.
  std::string_view best = "";
  double best_us = 0;
};

struct TunerOptions {
  WorkerProcessOptions worker;
  SearchOptions search;   // its share is tune()'s
  uint32_t repeats = 20;  // of the winner, whose results must be the same bits each time; fewer where time is up
  bool is_cold = false;   // measure::TimingOptions, of tasks that do not say
  bool is_anew = false;   // measures again rows of the store, and quarantined kernels
  std::function<void(const TunerEvent&)> on_event;
  const std::atomic<bool>* is_stopped = nullptr;  // set by the interrupting code; read between measurements
};

class Tuner {
 public:
  Tuner(tuning::Store& store, TunerOptions options) : store_(store), options_(std::move(options)) {}
  // Errors: an operator or a request that is refused; no kernel fits; no device; the store. A worker that cannot be
  // kept alive.
  Expected<TaskReport> tune(const runner::Task& task, const Share& share);
  // Of the device, measured now. Errors: no device.
  Expected<DeviceRates> rates();

 private:
  struct Opened {
    std::string problem;
    std::string device_name, profile;
    tuning::DeviceKey device;
    double roof_us = 0;
    std::vector<Candidate> candidates;
    std::map<std::string, uint64_t, std::less<>> digests;
  };
  void begin(const runner::Task& task, const Share& share);
  Done start();
  Expected<Opened> open(const runner::Task& task);
  Done count_death();
  Done reopen();
  Done skip_quarantined();
  Expected<std::vector<Measured>> stored_times(TaskReport& report) const;
  std::vector<Candidate> searched(std::span<const Measured> known) const;

  Done search(TaskReport& report);
  Expected<Batch> measure(std::span<const std::string> asked, const Round& round);
  Done compile(const std::vector<std::string>& ids);
  Done compile_ahead();
  Done verify(std::vector<std::string> ids);
  using Times = std::map<std::string, measure::Spread>;
  Done time(const std::vector<std::string>& ids, const Round& round, double until_s, Times& times);
  Done repeat_winner(TaskReport& report, double until_s);
  Done rank_as_stored(TaskReport& report);
  void complete(TaskReport& report, const std::string& untuned) const;
  Done time_final(const std::vector<std::string>& ids, const Round& round, double until_s, Times& times);
  void settle_final(Times& times);
  Done repeat_final();
  Done note_base();
  double clock_between(size_t since, size_t until) const;
  double clock_of_final() const;
  Done mark_slow_rows();
  Done keep(Times& times, bool is_final);
  Done drop(const std::string& id, const std::string& reason, bool is_quarantined);

  // The worker's message. Without an answer it died, and another one is there. Error: its answer is one.
  Expected<Reply> ask(const WorkerProcess::Json& command,
                      const std::function<void(const WorkerProcess::Json& line)>& on_line);
  bool is_cold() const { return task_->is_cold.value_or(options_.is_cold); }
  void tell(std::string_view stage, size_t done, size_t all, std::string text = "") const;
  // A worker's message about a stage's progress.
  std::function<void(const WorkerProcess::Json& line)> told_as(std::string_view stage) const;

  tuning::Store& store_;
  TunerOptions options_;
  std::optional<WorkerProcess> worker_;
  std::optional<runner::Task> task_;
  Opened opened_;
  // Of the problem that is tuned.
  std::chrono::steady_clock::time_point began_;
  Share share_;  // of the search
  bool has_measured_ = false;
  std::vector<std::string> expected_;  // candidates, of the next measure() but one
  bool is_ahead_ = false;              // the worker compiles candidates ahead of their measurement
  bool looks_ahead_ = true;
  std::set<std::string, std::less<>> verified_, compiled_, by_relatives_;
  std::map<std::string, std::string, std::less<>> dropped_;
  std::vector<std::string> suspicions_;
  Times times_;                                                        // without dropped ones; the known ones included
  std::map<std::string, std::string, std::less<>> statistics_;         // TunedRow's
  std::map<std::string, std::vector<double>, std::less<>> rounds_us_;  // measure::Timings
  double clock_ = 1;                                                   // TunedRow's, of what was timed last
  std::vector<double> base_us_;                                        // of each sentinel
  // The final that counts.
  struct Final {
    std::vector<std::string> ids;
    double seconds = 0;
    double clock = 1;     // as it was timed
    size_t sentinel = 0;  // before it; the next one follows it
    size_t ties = 0;
  };
  std::optional<Final> final_;
  uint32_t finals_ = 0;
  // Rows that are stored, and the sentinels before and after their measurement.
  struct Kept {
    tuning::TunedRow row;
    size_t since, until;
  };
  std::vector<Kept> kept_;
  size_t deaths_ = 0;
};

}  // namespace qgen::tuner
