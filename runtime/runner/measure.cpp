// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/runner/measure.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "copy_words.h"
#include "runtime/tensor/weight_form.h"

namespace qgen::runner {
namespace {

constexpr uint32_t kCounted = 10;  // of a submission
constexpr uint32_t kWarmUps = 2;   // submissions that are not counted at all: clocks rise, caches and pages fill

// Calls submit(samples) as often as it takes; each call adds kCounted.
Expected<Spread> spread_over(const MeasureOptions& options, const std::function<Done(std::vector<double>&)>& submit) {
  std::vector<double> samples;
  for (uint32_t i = 0; i < submissions_of(options); ++i) {
    if (i == kWarmUps) samples.clear();
    if (Done timed = submit(samples); !timed) return timed.error();
    if (options.on_submission) options.on_submission();
  }
  return spread_of(std::move(samples));
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

}  // namespace

uint32_t submissions_of(const MeasureOptions& options) {
  return kWarmUps + (options.replays + kCounted - 1) / kCounted;
}

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {at_share(samples, 0.5), at_share(samples, 0.1), at_share(samples, 0.9)};
}

Expected<Measurement> measure(Context& context, const PreparedCall& prepared, const Choice& choice,
                              const MeasureOptions& options) {
  const auto bound = bind(context, prepared.call, choice, prepared.arguments);
  if (!bound) return bound.error();
  const std::vector<Work> works(kCounted + 1, Work{&choice, bound->operands});
  auto recording = context.executor.record(works);
  if (!recording) return recording.error();
  const auto launches = static_cast<std::ptrdiff_t>(choice.launches.size());
  const auto spread = spread_over(options, [&](std::vector<double>& samples) -> Done {
    const auto timing = context.executor.time(*recording);
    if (!timing) return timing.error();
    for (auto work = timing->launches_us.begin() + launches; work != timing->launches_us.end(); work += launches) {
      samples.push_back(std::reduce(work, work + launches));
    }
    return std::monostate{};
  });
  if (!spread) return spread.error();
  return Measurement{choice.id, *spread};
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

Expected<Spread> measure_copy(Context& context, uint64_t bytes_moved, const MeasureOptions& options) {
  const uint64_t vectors = std::max<uint64_t>(1, bytes_moved / 2 / 16);
  const TensorDesc words{DType::u32, {static_cast<int64_t>(4 * vectors)}};
  const auto from = context.executor.allocate(words.dtype, words.shape, words.storage);
  if (!from) return from.error();
  const generated::copy_words::Problem fields{.numel = static_cast<uint32_t>(4 * vectors)};
  const PreparedCall copy{make_call(generated::copy_words::op, fields, {words, words}), {&*from, {}}, {}, {}};
  const Selection selection = select(copy.call.problem, context.profile, context.library, {.best_only = true});
  if (selection.ranked.empty()) return no_kernel(selection);
  const auto measured = measure(context, copy, selection.ranked.front(), options);
  if (!measured) return measured.error();
  return measured->device_us;
}

}  // namespace qgen::runner
