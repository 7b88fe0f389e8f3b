// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/online_tuning.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace qgen {
namespace {

constexpr double kHopeless = 2;         // times the best
constexpr size_t kMostProblems = 4096;  // past them all are forgotten

double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

}  // namespace

OnlineTuning::OnlineTuning(OnlineOptions options) : options_(std::move(options)) {
  if (!options_.now) options_.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
}

OnlineTuning::Trials& OnlineTuning::trials_of(const std::string& key, const Problem& problem,
                                              const DeviceProfile& device, const KernelLibrary& library,
                                              const KernelTimes& known) {
  if (trials_.size() >= kMostProblems && !trials_.contains(key)) trials_.clear();
  const auto [found, is_new] = trials_.try_emplace(key, Trials{problem.op, {}});
  if (!is_new) return found->second;
  const Selection selection =
      select(problem, device, library, {.all_specializations = true, .all_step_kernels = true, .times = &known});
  const size_t count = std::min(std::max<size_t>(options_.candidates, 1), selection.ranked.size());
  for (const Choice& choice : std::span(selection.ranked).first(count)) {
    const KnownTime time{
        .us = choice.time_us, .source = choice.source, .source_text = choice.source_text, .is_final = choice.is_final};
    found->second.candidates.push_back({choice.id, time});
  }
  return found->second;
}

const OnlineTuning::Tried* OnlineTuning::next_trial(const Trials& trials) const {
  if (is_frozen_ || !trials.candidates.front().is_done) return nullptr;
  const bool has_time = static_cast<double>(tried_.count()) < options_.share * static_cast<double>(all_.count());
  const auto next = std::ranges::find(trials.candidates, false, &Tried::is_done);
  return has_time && next != trials.candidates.end() ? &*next : nullptr;
}

std::shared_ptr<const Choice> OnlineTuning::choice_of(const Problem& problem, const Tried& tried,
                                                      const DeviceProfile& device, const KernelLibrary& library) {
  auto kept = choices_.find(problem);
  const bool is_it = kept && kept->id == tried.id && kept->source == tried.known.source &&
                     (kept->source == TimeSource::estimated || kept->time_us == tried.known.us);
  if (is_it) return kept;
  KernelTimes times;
  if (tried.known.source != TimeSource::estimated) times.add(tried.id, tried.known);
  Selection selection = select(problem, device, library,
                               {.force = tried.id, .best_only = true, .best_or_nothing = true, .times = &times});
  return selection.ranked.empty() ? nullptr : choices_.keep(std::move(selection.ranked.front()));
}

OnlineTuning::Turn OnlineTuning::next(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                                      const KernelTimes& known) {
  Turn turn{.problem = key_of(problem), .began = options_.now()};
  Tried chosen;
  {
    const std::scoped_lock lock(mutex_);
    const Trials& trials = trials_of(turn.problem, problem, device, library, known);
    if (trials.candidates.empty()) return turn;
    const Tried* trial = next_trial(trials);
    turn.is_trial = trial != nullptr;
    chosen = trial ? *trial : *std::ranges::min_element(trials.candidates, {}, [](const Tried& tried) {
      return std::tuple(tried.has_failed(), tried.known.source, !tried.known.is_final, tried.known.us);
    });
    turn.is_timed = !is_frozen_ && !chosen.is_done;
  }
  turn.choice = choice_of(problem, chosen, device, library);
  return turn;
}

void OnlineTuning::end(const Turn& turn) {
  const auto took = options_.now() - turn.began;
  all_ += took;
  if (turn.is_trial) tried_ += took;
}

void OnlineTuning::took(const Turn& turn, double device_us) {
  const std::scoped_lock lock(mutex_);
  end(turn);
  const auto trials = trials_.find(turn.problem);
  if (!turn.is_timed || is_frozen_ || trials == trials_.end()) return;
  auto& candidates = trials->second.candidates;
  const auto tried = std::ranges::find(candidates, turn.choice->id, &Tried::id);
  if (tried == candidates.end() || tried->is_done) return;
  tried->samples_us.push_back(device_us);
  // This time ranks with times of a final round, since it was also measured for comparison.
  tried->known = {.us = median_of(tried->samples_us),
                  .source_text = "measured online",
                  .is_final = candidates.front().known.is_final};
  double best = tried->known.us;
  for (const Tried& one : candidates) {
    if (!one.samples_us.empty()) best = std::min(best, one.known.us);
  }
  tried->is_done = tried->samples_us.size() >= options_.samples || device_us > kHopeless * best;
}

void OnlineTuning::failed(const Turn& turn) {
  const std::scoped_lock lock(mutex_);
  end(turn);
  const auto trials = trials_.find(turn.problem);
  if (trials == trials_.end() || !turn.choice) return;
  const auto tried = std::ranges::find(trials->second.candidates, turn.choice->id, &Tried::id);
  if (tried == trials->second.candidates.end()) return;
  tried->samples_us.clear();
  tried->is_done = true;
}

void OnlineTuning::freeze() {
  const std::scoped_lock lock(mutex_);
  is_frozen_ = true;
}

std::vector<OnlineTime> OnlineTuning::times(const KernelLibrary& library) const {
  const std::scoped_lock lock(mutex_);
  std::vector<OnlineTime> times;
  for (const auto& [problem, trials] : trials_) {
    for (const Tried& tried : trials.candidates) {
      const auto digest = digest_of(*trials.op, tried.id, library);
      if (tried.is_done && !tried.has_failed() && digest) {
        times.push_back({problem, tried.id, *digest, tried.known.us});
      }
    }
  }
  return times;
}

}  // namespace qgen
