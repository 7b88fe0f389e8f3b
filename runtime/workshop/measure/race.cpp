// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/race.h"

#include <algorithm>
#include <cmath>

namespace qgen::measure {
namespace {

constexpr uint32_t kNotCounted = 1;  // rounds: caches fill, pages are touched, drivers finish deferred work
// Of TimingOptions::is_quick:
constexpr uint32_t kFewest = 3;         // chains of ten that count, of a turn that would take longer than it may
constexpr double kFarSlower = 4;        // than the best, at the first look: a clock may be at a third for one of them
constexpr int kMostLooks = 8;           // of one that is far slower: another program may have interrupted the first
constexpr double kMostLooksUs = 100e3;  // looks are not repeated for longer: interruptions are shorter
constexpr double kInterrupted = 2;      // a look takes so many times as long as in the round after it, or longer
constexpr int kMostFalls = 5;           // for the clock, before the measured time is accepted

// Replays of a chain: as many as a network has layers in a row. Or fewer, which take so long that the timestamp between
// two chains does not count.
constexpr uint32_t kLongestChain = 20;

uint32_t chain_of(const TimingOptions& options, double replay_us) {
  const double wanted = std::ceil(options.chain_us / std::max(replay_us, 1e-3));
  return static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kLongestChain}));
}

uint32_t fewest_of(const TimingOptions& options) { return std::max(1u, kFewest * options.chains / 10); }
uint32_t counted_of(const TimingOptions& options, double chain_us) {
  const double wanted = std::ceil(options.turn_us / std::max(chain_us, 1e-3));
  return static_cast<uint32_t>(
      std::clamp(wanted, static_cast<double>(fewest_of(options)), static_cast<double>(options.chains)));
}

uint32_t rounds_of(const TimingOptions& options) { return (options.replays + options.chains - 1) / options.chains; }

class Race {
 public:
  Race(const TimingOptions& options, size_t racers) : options_(options), racers_(racers), best_us_(options.best_us) {}
  // The first look.
  Done enter(const Racer& racer);
  // After all first looks: more of those that are out, and the recordings that rounds replay. Then the round that is not
  // counted.
  Done prepare();
  // A row of samples for each. One that is out has its first look, and one that takes no part has none.
  Expected<std::vector<std::vector<double>>> round(size_t index, const std::vector<bool>& takes_part);
  bool is_out(size_t index) const { return is_out(entries_[index]); }
  // Nobody takes part in the rounds that are left.
  void tell_early_end() const { tell(turns_of(options_, racers_)); }

 private:
  struct Entry {
    const Racer* racer;
    double look_us;
  };
  Expected<double> look(const Racer& racer) const;
  Done look_again(Entry& entry);
  Done record(const Entry& entry);
  bool is_out(const Entry& entry) const {
    return options_.is_quick && best_us_ > 0 && entry.look_us > kFarSlower * best_us_;
  }

  void tell(size_t done) const {
    if (options_.on_turn) options_.on_turn(done, turns_of(options_, racers_));
  }

  const TimingOptions& options_;
  size_t racers_;
  double best_us_;
  std::vector<Entry> entries_;
};

Expected<double> Race::look(const Racer& racer) const {
  if (Done recorded = racer.record(1, options_.is_quick ? 1 : options_.chains); !recorded) return recorded.error();
  const auto replays = racer.run();
  if (!replays) return replays.error();
  return std::ranges::min(*replays);  // the clock may be low
}

Done Race::enter(const Racer& racer) {
  const auto look_us = look(racer);
  if (!look_us) return look_us.error();
  best_us_ = best_us_ > 0 ? std::min(best_us_, *look_us) : *look_us;
  entries_.push_back({&racer, *look_us});
  tell(entries_.size());
  return std::monostate{};
}

Done Race::look_again(Entry& entry) {
  double spent_us = entry.look_us;
  for (int looks = 1; looks < kMostLooks && is_out(entry) && spent_us < kMostLooksUs; ++looks) {
    const auto look_us = look(*entry.racer);
    if (!look_us) return look_us.error();
    spent_us += *look_us;
    entry.look_us = std::min(entry.look_us, *look_us);
  }
  return std::monostate{};
}

Done Race::prepare() {
  for (Entry& entry : entries_) {
    if (Done looked = look_again(entry); !looked) return looked;
    if (Done recorded = record(entry); !recorded) return recorded;
  }
  const auto first = round(0, std::vector<bool>(racers_, true));
  if (!first) return first.error();
  // Another program interrupted the look of one that is far faster now: its chains are too few or too short.
  for (size_t i = 0; i < entries_.size(); ++i) {
    const double least_us = std::ranges::min((*first)[i]);
    if (!options_.is_quick || kInterrupted * least_us > entries_[i].look_us) continue;
    entries_[i].look_us = least_us;
    if (Done recorded = record(entries_[i]); !recorded) return recorded;
  }
  return std::monostate{};
}

Done Race::record(const Entry& entry) {
  const bool is_quick = options_.is_quick;
  // A recording that is run again begins with the first copy: by then all others were read.
  const uint32_t whole_rotation = entry.racer->copies / ((is_quick ? fewest_of(options_) : options_.chains) + 1) + 1;
  const uint32_t chain = std::max(chain_of(options_, entry.look_us), whole_rotation);
  if (is_out(entry) || (chain == 1 && !is_quick)) return std::monostate{};
  const uint32_t counted = is_quick ? counted_of(options_, chain * entry.look_us) : options_.chains;
  return entry.racer->record(chain, counted);
}

Expected<std::vector<std::vector<double>>> Race::round(size_t index, const std::vector<bool>& takes_part) {
  std::vector<std::vector<double>> rows;
  for (const Entry& entry : entries_) {
    Expected<std::vector<double>> samples = std::vector<double>();
    if (is_out(entry)) samples = std::vector{entry.look_us};
    else if (takes_part[rows.size()]) samples = entry.racer->run();
    if (!samples) return samples.error();
    rows.push_back(*std::move(samples));
    tell((1 + index) * racers_ + rows.size());
  }
  return rows;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const size_t last = samples.size() - 1;
  return {samples[(last + 1) / 2], samples[last / 10], samples[(9 * last + 5) / 10], static_cast<uint32_t>(last + 1)};
}

size_t turns_of(const TimingOptions& options, size_t contestants) {
  return contestants * (1 + kNotCounted + rounds_of(options));
}

Expected<Timings> race(SteadyClock& clock, std::span<const Racer> racers, const TimingOptions& options) {
  // The clock is up at the first looks too, where they count.
  if (options.is_quick) {
    if (const auto raised = clock.raise(); !raised) return raised.error();
  }
  Race race(options, racers.size());
  for (const Racer& racer : racers) {
    if (Done entered = race.enter(racer); !entered) return entered.error();
  }
  if (Done prepared = race.prepare(); !prepared) return prepared.error();
  auto level = options.is_quick ? clock.look() : clock.raise();
  if (level && options.is_quick && !level->is_steady()) level = clock.raise();
  if (!level) return level.error();

  Timings timings{.rounds_us = std::vector<std::vector<double>>(racers.size()), .clock = *level};
  std::vector<std::vector<double>> samples(racers.size());
  std::vector<bool> takes_part(racers.size(), true);
  int falls = 0;
  uint32_t rounds = 0;
  while (rounds < rounds_of(options) && std::ranges::count(takes_part, true) > 0) {
    const auto round = race.round(kNotCounted + rounds, takes_part);
    if (!round) return round.error();
    level = clock.look();
    if (level && !level->is_steady() && falls++ < kMostFalls) {
      level = clock.raise();
      if (level && level->is_steady()) continue;
    }
    if (!level) return level.error();
    if (level->of_best < timings.clock.of_best) timings.clock = *level;
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i].insert(samples[i].end(), (*round)[i].begin(), (*round)[i].end());
      if (!race.is_out(i) && takes_part[i]) timings.rounds_us[i].push_back(spread_of((*round)[i]).low);
    }
    ++rounds;
    if (options.next_round) takes_part = options.next_round(timings.rounds_us);
  }
  if (rounds < rounds_of(options)) race.tell_early_end();
  for (size_t i = 0; i < samples.size(); ++i) {
    if (race.is_out(i)) samples[i].resize(1);  // the same look, of each round
    timings.device_us.push_back(spread_of(std::move(samples[i])));
  }
  return timings;
}

}  // namespace qgen::measure
