// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tunes problems one after the other: a worker measures what search.h asks for, the store keeps every time as soon as
// it is there, and whatever crashes, hangs or computes nonsense is quarantined and passed over.
//
//   Tuner tuner(store, {.worker = {...}});
//   Expected<TaskReport> report = tuner.tune({"q8ta_linear", {...}}, {.budget_s = 60});
//
// Run again, it goes on where it was: what the store has of the same kernels on this device and driver is not measured
// again.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>

#include "runtime/runner/task.h"
#include "runtime/tuner/search.h"
#include "runtime/tuner/supervisor.h"
#include "runtime/tuning/store.h"

namespace qgen::tuner {

struct Dropped {
  std::string kernel;
  std::string reason;
};

struct TaskReport {
  std::string problem;  // key_of()
  std::string device;
  size_t candidates = 0;
  SearchResult found;               // best first
  std::optional<Measured> untuned;  // what would have been chosen without
  std::vector<Dropped> dropped;     // now or before
  size_t by_relatives = 0;          // of those found: verified on small relatives alone (verifier.h)
  double most_s = 0;                // that its first candidate might take, the opening with it
  double opened_s = 0;              // until the problem and its references were there; of the budget, as all else
  double seconds = 0;               // in all
};
// What a tuning ends with that somebody interrupted.
Error interrupted();
// Whether there was no time to measure any kernel.
bool is_untried(const TaskReport& report);
// Why a report has no times: nothing fits the budget, or every candidate was dropped. Of one that has some: empty.
std::string why_nothing(const TaskReport& report);

// What happens, for those who show it. `done` of `all` of what the stage does: candidates, or their turns to be timed.
struct TunerEvent {
  std::string_view stage;  // "open", "compile", "verify", "time", "dropped"
  std::string text;        // of "dropped", which and why
  size_t done = 0, all = 0;
  // Of the problem so far, of what was not dropped; empty: none has a time.
  std::string_view best = "";
  double best_us = 0;
};

struct TunerOptions {
  WorkerProcessOptions worker;
  SearchOptions search;   // its share is tune()'s
  uint32_t repeats = 20;  // of the winner, whose results must be the same bits each time; fewer where time is up
  bool is_cold = false;   // measure::TimingOptions, of tasks that do not say
  bool is_anew = false;   // measures again what the store has, and what was quarantined
  std::function<void(const TunerEvent&)> on_event;
  const std::atomic<bool>* is_stopped = nullptr;  // set by whoever interrupts; looked at between measurements
};

class Tuner {
 public:
  Tuner(tuning::Store& store, TunerOptions options) : store_(store), options_(std::move(options)) {}
  // Errors: an operator or a request that is refused; no kernel fits; no device; the store. A worker that cannot be
  // kept alive.
  Expected<TaskReport> tune(const runner::Task& task, const Share& share);

 private:
  struct Opened {
    std::string problem;
    std::string device_name, profile;
    tuning::DeviceKey device;
    std::vector<Candidate> candidates;
    std::map<std::string, uint64_t, std::less<>> digests;
  };
  Done start();
  Expected<Opened> open(const runner::Task& task);
  Done count_death();
  Done reopen();
  Done skip_quarantined(TaskReport& report);
  std::vector<Measured> known_times() const;

  Expected<Batch> measure(std::span<const std::string> asked, uint32_t replays, double best_us);
  Done compile(const std::vector<std::string>& ids);
  Done compile_ahead();
  Done verify(std::vector<std::string> ids);
  using Times = std::map<std::string, measure::Spread>;
  Done time(const std::vector<std::string>& ids, uint32_t replays, double best_us, Times& times);
  Done repeat_winner(SearchResult& found, double until_s);
  Done keep(const Times& times);
  Done drop(const std::string& id, const std::string& reason, bool is_quarantined);

  // What the worker says. Without an answer it died, and another one is there. Error: its answer is one.
  Expected<Reply> ask(const WorkerProcess::Json& command,
                      const std::function<void(const WorkerProcess::Json& line)>& on_line);
  bool is_cold() const { return task_->is_cold.value_or(options_.is_cold); }
  void tell(std::string_view stage, size_t done, size_t all, std::string text = "") const;
  // What a worker says of how far a stage is.
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
  bool is_ahead_ = false;              // the worker compiles what it was not yet asked to measure
  bool looks_ahead_ = true;
  std::set<std::string, std::less<>> verified_, compiled_, by_relatives_;
  std::map<std::string, std::string, std::less<>> dropped_;
  Times times_;  // of what was not dropped, those that were known with them
  std::map<std::string, std::string, std::less<>> statistics_;  // TunedRow's
  size_t deaths_ = 0;
};

}  // namespace qgen::tuner
