// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/timing.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "copy_words.h"
#include "runtime/tensor/weight_form.h"

namespace qgen::measure {
namespace {

constexpr uint32_t kCounted = 10;  // of a submission
constexpr int kMostFalls = 5;      // of the clock, before what was measured is taken as it is

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
  // Replays each once more than it counts; a row of samples for each.
  Expected<std::vector<std::vector<double>>> round();

 private:
  struct Entry {
    Executor* executor;
    std::ptrdiff_t launches;
    Recording recording;
  };
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
  const std::vector<Work> works(kCounted + 1, Work{contestant.choice, bound->operands});
  auto recording = context.executor.record(works);
  if (!recording) return recording.error();
  entries_.push_back(
      {&context.executor, static_cast<std::ptrdiff_t>(contestant.choice->launches.size()), *std::move(recording)});
  for (DeviceTensor& made : bound->made) {
    const auto place = std::ranges::find(bound->operands, &made) - bound->operands.begin();
    outputs_.push_back(std::make_unique<DeviceTensor>(std::move(made)));
    arguments[static_cast<size_t>(place)] = outputs_.back().get();
  }
  return std::monostate{};
}

Expected<std::vector<std::vector<double>>> Race::round() {
  std::vector<std::vector<double>> samples(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    auto& [executor, launches, recording] = entries_[i];
    const auto timing = executor->time(recording);
    if (!timing) return timing.error();
    for (auto work = timing->launches_us.begin() + launches; work != timing->launches_us.end(); work += launches) {
      samples[i].push_back(std::reduce(work, work + launches));
    }
  }
  return samples;
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

uint64_t bytes_moved(const PreparedCall& prepared) {
  uint64_t total = 0;
  const OperatorInfo& op = *prepared.call.problem.op;
  for (size_t i = 0; i < prepared.call.operands.size(); ++i) {
    const auto& operand = prepared.call.operands[i];
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
