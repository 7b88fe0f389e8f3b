// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/clock.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "multiply_add.h"
#include "runtime/workshop/measure/timing.h"

namespace qgen::measure {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kQuiet = 50ms;   // without a rise: the clock has arrived
constexpr nanoseconds kLeast = 300ms;  // of the first climb, which does not know yet how far up it goes
constexpr nanoseconds kLongest = 3s;   // of one climb
constexpr nanoseconds kRest = 500ms;   // of a device that does not come back to its plateau by work
constexpr int kClimbs = 3;
constexpr int kLooks = 5;       // samples that are looked at before a clock is said to have fallen
constexpr double kRise = 1.01;  // what counts as one

double part_of(double rate, double best) { return best > 0 ? rate / best : 1; }

// Whether either rate is more than a little above the best so far, which takes it up.
bool rises(const Rates& rates, Rates& best) {
  const bool has_risen = rates.copied_bytes > kRise * best.copied_bytes || rates.operations > kRise * best.operations;
  best = {std::max(best.copied_bytes, rates.copied_bytes), std::max(best.operations, rates.operations)};
  return has_risen;
}

}  // namespace

Expected<ClockLevel> SteadyClock::look() {
  ClockLevel level;
  if (!surroundings_.sample) return level;
  for (int i = 0; i < kLooks && (i == 0 || !level.is_steady()); ++i) {
    const auto rates = surroundings_.sample();
    if (!rates) return rates.error();
    rises(*rates, plateau_);
    rises(*rates, level.rates);
    level.of_plateau = std::min(part_of(level.rates.copied_bytes, plateau_.copied_bytes),
                                part_of(level.rates.operations, plateau_.operations));
  }
  return level;
}

// A driver takes its time to raise a clock: below the plateau there is nothing to do except to go on working.
Expected<ClockLevel> SteadyClock::work_until_level() {
  const nanoseconds began = surroundings_.now(), least = plateau_.copied_bytes > 0 ? kQuiet : kLeast;
  nanoseconds risen = began;
  for (Rates best;;) {
    const auto level = look();
    if (!level) return level;
    const nanoseconds now = surroundings_.now();
    if (rises(level->rates, best)) risen = now;
    const bool has_arrived = level->is_steady() && now - risen >= kQuiet && now - began >= least;
    if (has_arrived || now - began >= kLongest) return level;
  }
}

Expected<ClockLevel> SteadyClock::raise() {
  if (!surroundings_.sample) return ClockLevel{};
  auto level = work_until_level();
  for (int climb = 1; level && !level->is_steady() && climb < kClimbs; ++climb) {
    surroundings_.rest(kRest);
    level = work_until_level();
  }
  return level;
}

// ---- of a device ----------------------------------------------------------------------------------------------------

namespace {

constexpr double kSampleUs = 50;   // of each of the two kernels, as the device's profile estimates it
constexpr uint32_t kRepeats = 16;  // in a submission, the first of which is not counted

// A call, recorded over and over; the recording keeps what it writes.
struct Calibrator {
  PreparedCall call;
  Recording recording;
  double work;  // bytes or operations of one replay
};

Expected<Calibrator> calibrator_of(Context& context, PreparedCall call, double work) {
  const Selection selection = select(call.call.problem, context.profile, context.library, {.best_only = true});
  if (selection.ranked.empty()) return no_kernel(selection);
  const Choice& choice = selection.ranked.front();
  const auto bound = qgen::bind(context, call.call, choice, call.arguments);
  if (!bound) return bound.error();
  auto recording = context.executor.record(std::vector<Work>(kRepeats, Work{&choice, bound->operands}));
  if (!recording) return recording.error();
  return Calibrator{std::move(call), *std::move(recording), work};
}

Expected<Calibrator> copy_calibrator(Context& context) {
  constexpr double kMostBytes = 1 << 26;
  const auto bytes =
      static_cast<uint64_t>(std::clamp(kSampleUs * context.profile.numbers.bytes_per_us, 65536.0, kMostBytes));
  auto call = copy_call(context, bytes);
  if (!call) return call.error();
  return calibrator_of(context, *std::move(call), static_cast<double>(bytes));
}

Expected<Calibrator> arithmetic_calibrator(Context& context) {
  constexpr double kOperations = 8;  // of a step
  const DeviceNumbers& device = context.profile.numbers;
  const uint32_t numel = 2048 * static_cast<uint32_t>(std::clamp<int64_t>(device.compute_units, 1, 1024));
  const double steps = kSampleUs * device.f32_ops_per_us / (kOperations * numel);
  const generated::multiply_add::Problem fields{.numel = numel,
                                                .steps = static_cast<uint32_t>(std::clamp(steps, 16.0, 65536.0))};
  const TensorDesc output{DType::f32, {static_cast<int64_t>(numel)}};
  PreparedCall call;
  call.call = make_call(fields, {.output = output});
  call.arguments = generated::multiply_add::Operands<Argument>{.output = Argument()};
  return calibrator_of(context, std::move(call), kOperations * numel * fields.steps);
}

Expected<double> rate_of(Context& context, Calibrator& calibrator) {
  const auto timing = context.executor.time(calibrator.recording);
  if (!timing) return timing.error();
  const double us = std::reduce(timing->intervals_us.begin() + 1, timing->intervals_us.end());
  return us > 0 ? (kRepeats - 1) * calibrator.work / us : 0;
}

}  // namespace

Expected<SteadyClock> clock_of(Context& context) {
  if (context.profile.numbers.is_cpu) return SteadyClock();
  auto copy = copy_calibrator(context);
  if (!copy) return copy.error();
  auto arithmetic = arithmetic_calibrator(context);
  if (!arithmetic) return arithmetic.error();
  const auto calibrators =
      std::make_shared<std::pair<Calibrator, Calibrator>>(*std::move(copy), *std::move(arithmetic));
  const auto sample = [&context, calibrators]() -> Expected<Rates> {
    const auto copied = rate_of(context, calibrators->first);
    if (!copied) return copied.error();
    const auto calculated = rate_of(context, calibrators->second);
    if (!calculated) return calculated.error();
    return Rates{*copied, *calculated};
  };
  return SteadyClock({.sample = sample,
                      .now = [] { return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); },
                      .rest = [](nanoseconds time) { std::this_thread::sleep_for(time); }});
}

}  // namespace qgen::measure
