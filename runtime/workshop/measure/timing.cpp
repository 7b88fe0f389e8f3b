// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/timing.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "copy_words.h"
#include "runtime/engine/tensor/weight_form.h"

namespace qgen::measure {
namespace {

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
      copies_;  // in addition to the tensor itself; they stay in place
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

// Contestants as racers. The recordings of one call write the same outputs, in turn.
class Recordings {
 public:
  // It lives as long as this, and as the contestant.
  Expected<Racer> racer_of(const Contestant& contestant, bool is_cold);

 private:
  struct Lane {
    Executor* executor;
    const Choice* choice;
    Rotation rotation;
    uint32_t chain = 1;  // in replays
    std::optional<Recording> recording;

    Done record(uint32_t replays, uint32_t counted);
    Expected<std::vector<double>> run();
  };
  void keep_outputs(BoundCall& bound, ArgumentList& arguments);

  Copies copies_;
  std::map<const PreparedCall*, ArgumentList> arguments_;  // with the outputs that the first contestant made
  std::vector<std::unique_ptr<DeviceTensor>> outputs_;
  std::deque<Lane> lanes_;
};

Expected<Racer> Recordings::racer_of(const Contestant& contestant, bool is_cold) {
  const PreparedCall& prepared = *contestant.call;
  auto& arguments = arguments_.try_emplace(&prepared, prepared.arguments).first->second;
  auto bound = qgen::bind(*contestant.context, prepared.call, *contestant.choice, arguments);
  if (!bound) return bound.error();
  keep_outputs(*bound, arguments);
  auto rotation = is_cold ? copies_.rotation_of(contestant, *bound) : Expected<Rotation>(Rotation{bound->operands});
  if (!rotation) return rotation.error();
  Lane& lane = lanes_.emplace_back(Lane{&contestant.context->executor, contestant.choice, *std::move(rotation), 1, {}});
  return Racer{.record = [&lane](uint32_t chain, uint32_t counted) { return lane.record(chain, counted); },
               .run = [&lane] { return lane.run(); },
               .copies = static_cast<uint32_t>(lane.rotation.size())};
}

void Recordings::keep_outputs(BoundCall& bound, ArgumentList& arguments) {
  for (DeviceTensor& made : bound.made) {
    const auto operand = std::ranges::find(bound.operands, &made);
    outputs_.push_back(std::make_unique<DeviceTensor>(std::move(made)));
    arguments[static_cast<size_t>(operand - bound.operands.begin())] = outputs_.back().get();
    *operand = outputs_.back().get();
  }
}

Done Recordings::Lane::record(uint32_t replays, uint32_t counted) {
  chain = replays;
  std::vector<Work> works;
  for (uint32_t i = 0; i < (counted + 1) * chain; ++i) works.push_back({choice, rotation[i % rotation.size()]});
  auto made = executor->record(works);
  if (!made) return made.error();
  recording = *std::move(made);
  return std::monostate{};
}

Expected<std::vector<double>> Recordings::Lane::run() {
  const auto timing = executor->time(*recording, chain * static_cast<uint32_t>(choice->launches.size()));
  if (!timing) return timing.error();
  std::vector<double> samples(timing->intervals_us.begin() + 1, timing->intervals_us.end());
  for (double& sample : samples) sample /= chain;
  return samples;
}

}  // namespace

Expected<Timings> time_together(SteadyClock& clock, std::span<const Contestant> contestants,
                                const TimingOptions& options) {
  Recordings recordings;
  std::vector<Racer> racers;
  for (const Contestant& contestant : contestants) {
    auto racer = recordings.racer_of(contestant, options.is_cold);
    if (!racer) return racer.error();
    racers.push_back(*std::move(racer));
  }
  return race(clock, racers, options);
}

uint32_t copies_beyond(uint64_t cache_bytes, uint64_t bytes) {
  if (bytes == 0) return 1;
  return static_cast<uint32_t>(std::min<uint64_t>(2 * cache_bytes / bytes + 1, kMostCopies));
}

KernelTimes medians_of(std::span<const Contestant> contestants, const Timings& timings) {
  KernelTimes times;
  for (size_t i = 0; i < contestants.size(); ++i) {
    times.add(contestants[i].choice->id, {.us = timings.device_us[i].median});
  }
  return times;
}

uint64_t bytes_of(const TensorDesc& operand) {
  const WeightForm* form = find_weight_form(operand.layout);
  const auto bits = form ? form->bits : 8 * static_cast<uint64_t>(bytes(operand.dtype));
  return static_cast<uint64_t>(element_count(operand.shape)) * bits / 8;
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
