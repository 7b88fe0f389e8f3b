// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/timing.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "copy_words.h"
#include "runtime/tensor/weight_form.h"

namespace qgen::measure {
namespace {

constexpr uint32_t kCounted = 10;  // chains of a submission
// Of TimingOptions::is_quick:
constexpr uint32_t kFewest = 3;          // chains that count, of a submission that would take longer than
constexpr double kSubmissionUs = 100e3;  // this
constexpr double kFarSlower = 4;         // than the best, at the first look: a clock may be at a third for one of them
constexpr int kMostFalls = 5;            // of the clock, before what was measured is taken as it is

// Replays of a chain: as many as layers of a network follow one another, or fewer, which take so long that the
// timestamp between two chains does not count.
constexpr uint32_t kLongestChain = 20;
constexpr double kChainUs = 400;

uint32_t chain_of(double replay_us) {
  const double wanted = std::ceil(kChainUs / std::max(replay_us, 1e-3));
  return static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kLongestChain}));
}

uint32_t counted_of(double chain_us) {
  const double wanted = std::ceil(kSubmissionUs / std::max(chain_us, 1e-3));
  return static_cast<uint32_t>(std::clamp(wanted, double{kFewest}, double{kCounted}));
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

constexpr uint32_t kMostCopies = 1024;

// Operands of one replay after another, again from the first when all had their turn.
using Rotation = std::vector<std::vector<const DeviceTensor*>>;

// Copies of the operands that replays rotate through. Contestants that read the same tensor share its copies.
class Copies {
 public:
  Expected<Rotation> rotation_of(const Contestant& contestant, const BoundCall& bound);

 private:
  Done copy(Executor& executor, const DeviceTensor& tensor, uint32_t count);

  std::map<const DeviceTensor*, std::deque<DeviceTensor>>
      copies_;  // beside the tensor itself; they stay where they are
};

// The weights; of a call without any its inputs. Those in buffers.
std::vector<size_t> rotated_operands(const Contestant& contestant, const BoundCall& bound) {
  const OperatorInfo& op = *contestant.call->call.problem.op;
  std::vector<size_t> weights, inputs;
  for (size_t i = 0; i < bound.operands.size(); ++i) {
    const DeviceTensor* tensor = bound.operands[i];
    if (!tensor || tensor->storage() != Storage::buffer || op.operands[i].access != Access::read) continue;
    inputs.push_back(i);
    if (std::holds_alternative<Weight*>(contestant.call->arguments[i])) weights.push_back(i);
  }
  return weights.empty() ? inputs : weights;
}

Expected<Rotation> Copies::rotation_of(const Contestant& contestant, const BoundCall& bound) {
  const std::vector<size_t> rotated = rotated_operands(contestant, bound);
  uint64_t bytes = 0;
  for (const size_t i : rotated) {
    const DeviceTensor& tensor = *bound.operands[i];
    bytes += buffer_bytes(tensor.dtype(), tensor.shape(), tensor.layout());
  }
  const auto cache_bytes = static_cast<uint64_t>(contestant.context->profile.numbers.cache_bytes);
  Rotation rotation(copies_beyond(cache_bytes, bytes), bound.operands);
  for (const size_t i : rotated) {
    const DeviceTensor* tensor = bound.operands[i];
    const auto count = static_cast<uint32_t>(rotation.size() - 1);
    if (Done copied = copy(contestant.context->executor, *tensor, count); !copied) return copied.error();
    for (uint32_t c = 0; c < count; ++c) rotation[c + 1][i] = &copies_[tensor][c];
  }
  return rotation;
}

Done Copies::copy(Executor& executor, const DeviceTensor& tensor, uint32_t count) {
  auto& copies = copies_[&tensor];
  if (copies.size() >= count) return std::monostate{};
  const auto content = executor.download_stored(tensor);
  if (!content) return content.error();
  while (copies.size() < count) {
    auto made = executor.allocate(tensor.dtype(), tensor.shape(), tensor.storage(), tensor.layout());
    if (!made) return made.error();
    if (Done written = executor.write_stored(*made, *content); !written) return written;
    copies.push_back(*std::move(made));
  }
  return std::monostate{};
}

// Contestants with their recordings. Those of one call write the same outputs, in turn.
class Race {
 public:
  explicit Race(const TimingOptions& options) : options_(options), best_us_(options.best_us) {}
  Done enter(const Contestant& contestant);
  // Replays of each one chain more than it counts; a row of samples for each: a replay's share of a chain. One that is
  // out has its first look.
  Expected<std::vector<std::vector<double>>> round();

 private:
  struct Entry {
    Executor* executor;
    uint32_t chain;     // in replays
    uint32_t launches;  // of a replay
    Recording recording;
    double look_us = 0;
  };
  static Expected<Entry> record(Executor& executor, const Choice& choice, const Rotation& rotation, uint32_t chain,
                                uint32_t counted);
  static Expected<std::vector<double>> samples_of(Entry& entry);
  bool is_out(const Entry& entry) const {
    return options_.is_quick && best_us_ > 0 && entry.look_us > kFarSlower * best_us_;
  }

  const TimingOptions& options_;
  double best_us_;
  Copies copies_;
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
  const auto rotation =
      options_.is_cold ? copies_.rotation_of(contestant, *bound) : Expected<Rotation>(Rotation{bound->operands});
  if (!rotation) return rotation.error();
  auto entry = record(context.executor, *contestant.choice, *rotation, 1, options_.is_quick ? 1 : kCounted);
  if (!entry) return entry.error();
  const auto replays = samples_of(*entry);
  if (!replays) return replays.error();
  const double look_us = entry->look_us = std::ranges::min(*replays);  // the clock may be low
  best_us_ = best_us_ > 0 ? std::min(best_us_, look_us) : look_us;
  // A recording that is run again begins with the first copy: by then all others were read.
  const uint32_t least_counted = options_.is_quick ? kFewest : kCounted;
  const auto whole_rotation = static_cast<uint32_t>(rotation->size() / (least_counted + 1) + 1);
  const uint32_t chain = std::max(chain_of(look_us), options_.is_cold ? whole_rotation : 1);
  const uint32_t counted = options_.is_quick ? counted_of(chain * look_us) : kCounted;
  if (!is_out(*entry) && (chain > 1 || options_.is_quick)) {
    entry = record(context.executor, *contestant.choice, *rotation, chain, counted);
    if (!entry) return entry.error();
    entry->look_us = look_us;
  }
  entries_.push_back(*std::move(entry));
  for (DeviceTensor& made : bound->made) {
    const auto place = std::ranges::find(bound->operands, &made) - bound->operands.begin();
    outputs_.push_back(std::make_unique<DeviceTensor>(std::move(made)));
    arguments[static_cast<size_t>(place)] = outputs_.back().get();
  }
  return std::monostate{};
}

Expected<Race::Entry> Race::record(Executor& executor, const Choice& choice, const Rotation& rotation, uint32_t chain,
                                   uint32_t counted) {
  std::vector<Work> works;
  for (uint32_t i = 0; i < (counted + 1) * chain; ++i) works.push_back({&choice, rotation[i % rotation.size()]});
  auto recording = executor.record(works);
  if (!recording) return recording.error();
  return Entry{&executor, chain, static_cast<uint32_t>(choice.launches.size()), *std::move(recording)};
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
    auto samples = is_out(entry) ? Expected<std::vector<double>>(std::vector{entry.look_us}) : samples_of(entry);
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

uint32_t copies_beyond(uint64_t cache_bytes, uint64_t bytes) {
  if (bytes == 0) return 1;
  return static_cast<uint32_t>(std::min<uint64_t>(2 * cache_bytes / bytes + 1, kMostCopies));
}

uint32_t rounds_of(const TimingOptions& options) { return (options.replays + kCounted - 1) / kCounted; }

Expected<Timings> time_together(SteadyClock& clock, std::span<const Contestant> contestants,
                                const TimingOptions& options) {
  // The clock is up at the first looks too, where they count.
  if (options.is_quick) {
    if (const auto raised = clock.raise(); !raised) return raised.error();
  }
  Race race(options);
  for (const Contestant& contestant : contestants) {
    if (Done entered = race.enter(contestant); !entered) return entered.error();
  }
  // Not counted: caches fill, pages are touched, drivers finish what they put off.
  if (const auto first = race.round(); !first) return first.error();
  auto level = options.is_quick ? clock.look() : clock.raise();
  if (level && options.is_quick && !level->is_steady()) level = clock.raise();
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
    times.add(contestants[i].choice->id, {.us = timings.device_us[i].median});
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
