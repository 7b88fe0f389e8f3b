// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/timing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "copy_words.h"
#include "runtime/tensor/weight_form.h"

namespace qgen::measure {
namespace {

constexpr uint32_t kCounted = 10;  // chains of a submission
constexpr int kMostFalls = 5;      // of the clock, before what was measured is taken as it is

// Replays of a chain: as many as layers of a network follow one another, or fewer, which take so long that the
// timestamp between two chains does not count.
constexpr uint32_t kLongestChain = 20;
constexpr double kChainUs = 400;

uint32_t chain_of(std::span<const double> replays_us) {
  const double replay_us = std::ranges::min(replays_us);  // the clock may be low
  const double wanted = std::ceil(kChainUs / std::max(replay_us, 1e-3));
  return static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kLongestChain}));
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// A weight of four bits has two elements a byte, in whichever form.
uint64_t bytes_of(const TensorDesc& operand) {
  const WeightForm* form = find_weight_form(operand.layout);
  const auto bits = form ? form->bits : 8 * static_cast<uint64_t>(bytes(operand.dtype));
  return static_cast<uint64_t>(element_count(operand.shape)) * bits / 8;
}

// Contestants with their recordings. Those of one call write the same outputs, in turn.
class Race {
 public:
  Done enter(const Contestant& contestant);
  // Replays of each one chain more than it counts; a row of samples for each: a replay's share of a chain.
  Expected<std::vector<std::vector<double>>> round();

 private:
  struct Entry {
    Executor* executor;
    uint32_t chain;     // in replays
    uint32_t launches;  // of a replay
    Recording recording;
  };
  static Expected<Entry> record(Executor& executor, const Work& work, uint32_t chain);
  static Expected<std::vector<double>> samples_of(Entry& entry);

  std::map<const PreparedCall*, ArgumentList> arguments_;  // with the outputs that the first contestant made
  std::vector<std::unique_ptr<DeviceTensor>> outputs_;
  std::vector<Entry> entries_;
};

Done Race::enter(const Contestant& contestant) {
  const PreparedCall& prepared = *contestant.call;
  auto& arguments = arguments_.try_emplace(&prepared, prepared.arguments).first->second;
  Context& context = *contestant.context;
  auto bound = qgen::bind(context, prepared.call, *contestant.choice, arguments);
  if (!bound) return bound.error();
  const Work work{contestant.choice, bound->operands};
  auto entry = record(context.executor, work, 1);
  if (!entry) return entry.error();
  const auto replays = samples_of(*entry);
  if (!replays) return replays.error();
  if (const uint32_t chain = chain_of(*replays); chain > 1) {
    entry = record(context.executor, work, chain);
    if (!entry) return entry.error();
  }
  entries_.push_back(*std::move(entry));
  for (DeviceTensor& made : bound->made) {
    const auto place = std::ranges::find(bound->operands, &made) - bound->operands.begin();
    outputs_.push_back(std::make_unique<DeviceTensor>(std::move(made)));
    arguments[static_cast<size_t>(place)] = outputs_.back().get();
  }
  return std::monostate{};
}

Expected<Race::Entry> Race::record(Executor& executor, const Work& work, uint32_t chain) {
  auto recording = executor.record(std::vector<Work>((kCounted + 1) * chain, work));
  if (!recording) return recording.error();
  return Entry{&executor, chain, static_cast<uint32_t>(work.choice->launches.size()), *std::move(recording)};
}

Expected<std::vector<double>> Race::samples_of(Entry& entry) {
  const auto timing = entry.executor->time(entry.recording, entry.chain * entry.launches);
  if (!timing) return timing.error();
  std::vector<double> samples(timing->intervals_us.begin() + 1, timing->intervals_us.end());
  for (double& sample : samples) sample /= entry.chain;
  return samples;
}

Expected<std::vector<std::vector<double>>> Race::round() {
  std::vector<std::vector<double>> rows;
  for (Entry& entry : entries_) {
    auto samples = samples_of(entry);
    if (!samples) return samples.error();
    rows.push_back(*std::move(samples));
  }
  return rows;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {at_share(samples, 0.5), at_share(samples, 0.1), at_share(samples, 0.9)};
}

uint32_t rounds_of(const TimingOptions& options) { return (options.replays + kCounted - 1) / kCounted; }

Expected<Timings> time_together(SteadyClock& clock, std::span<const Contestant> contestants,
                                const TimingOptions& options) {
  Race race;
  for (const Contestant& contestant : contestants) {
    if (Done entered = race.enter(contestant); !entered) return entered.error();
  }
  // Not counted: caches fill, pages are touched, drivers finish what they put off.
  if (const auto first = race.round(); !first) return first.error();
  auto level = clock.raise();
  if (!level) return level.error();

  Timings timings{.clock = *level};
  std::vector<std::vector<double>> samples(contestants.size());
  int falls = 0;
  for (uint32_t rounds = 0; rounds < rounds_of(options);) {
    const auto round = race.round();
    if (!round) return round.error();
    level = clock.look();
    if (level && !level->is_steady() && falls++ < kMostFalls) {
      level = clock.raise();
      if (level && level->is_steady()) continue;
    }
    if (!level) return level.error();
    if (level->of_plateau < timings.clock.of_plateau) timings.clock = *level;
    for (size_t i = 0; i < samples.size(); ++i)
      samples[i].insert(samples[i].end(), (*round)[i].begin(), (*round)[i].end());
    ++rounds;
    if (options.on_round) options.on_round();
  }
  for (auto& of_one : samples) timings.device_us.push_back(spread_of(std::move(of_one)));
  return timings;
}

KernelTimes medians_of(std::span<const Contestant> contestants, const Timings& timings) {
  KernelTimes times;
  for (size_t i = 0; i < contestants.size(); ++i) {
    times[contestants[i].choice->id] = {.us = timings.device_us[i].median};
  }
  return times;
}

uint64_t bytes_moved(const Call& call) {
  uint64_t total = 0;
  const OperatorInfo& op = *call.problem.op;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const auto& operand = call.operands[i];
    if (!operand) continue;
    const uint64_t size = bytes_of(*operand);
    total += op.operands[i].access == Access::read_write ? 2 * size : size;
  }
  return total;
}

Expected<PreparedCall> copy_call(Context& context, uint64_t bytes_moved) {
  const uint64_t vectors = std::max<uint64_t>(1, bytes_moved / 2 / 16);
  const TensorDesc words{DType::u32, {static_cast<int64_t>(4 * vectors)}};
  auto from = context.executor.allocate(words.dtype, words.shape, words.storage);
  if (!from) return from.error();
  PreparedCall copy;
  copy.tensors.push_back(std::make_unique<DeviceTensor>(*std::move(from)));
  const generated::copy_words::Problem fields{.numel = static_cast<uint32_t>(4 * vectors)};
  copy.call = make_call(fields, {.input = words, .output = words});
  copy.arguments = generated::copy_words::Operands<Argument>{.input = copy.tensors.front().get(), .output = Argument()};
  return copy;
}

Expected<CopyRival> copy_moving(Context& context, uint64_t bytes_moved) {
  auto call = copy_call(context, bytes_moved);
  if (!call) return call.error();
  const Selection selection = select(call->call.problem, context.profile, context.library, {.best_only = true});
  if (selection.ranked.empty()) return no_kernel(selection);
  return CopyRival{&context, *std::move(call), selection.ranked.front()};
}

}  // namespace qgen::measure
