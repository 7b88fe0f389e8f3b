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
constexpr nanoseconds kShorter = 1s;   // the same, of a device that once did not come back to its plateau
constexpr nanoseconds kRest = 500ms;   // of a device that does not come back to its plateau by work
constexpr int kClimbs = 3;
constexpr int kLooks = 5;  // samples that are examined before a clock counts as fallen
constexpr int kLooksOfHost = 20;
constexpr double kRise = 1.01;  // a sample that counts as fallen

double part_of(double rate, double best) { return best > 0 ? rate / best : 1; }

Rates larger_of(const Rates& a, const Rates& b) {
  return {std::max(a.copied_bytes, b.copied_bytes), std::max(a.operations, b.operations)};
}
Rates smaller_of(const Rates& a, const Rates& b) {
  return {std::min(a.copied_bytes, b.copied_bytes), std::min(a.operations, b.operations)};
}
double part_of(const Rates& rates, const Rates& best) {
  return std::min(part_of(rates.copied_bytes, best.copied_bytes), part_of(rates.operations, best.operations));
}

// Whether either rate is more than a little above the best so far, which takes it up.
bool rises(const Rates& rates, Rates& best) {
  const bool has_risen = rates.copied_bytes > kRise * best.copied_bytes || rates.operations > kRise * best.operations;
  best = larger_of(best, rates);
  return has_risen;
}

}  // namespace

// One sample may be faster than the device ever is again: a copy may happen to lie in a cache. So a sample raises the
// plateau no further than the one before it went.
void SteadyClock::take(const Rates& rates) {
  const bool is_first = plateau_.copied_bytes == 0;
  plateau_ = is_first ? rates : larger_of(plateau_, smaller_of(rates, last_));
  best_ = larger_of(best_, plateau_);
  last_ = rates;
}

Expected<ClockLevel> SteadyClock::look() { return is_watched() ? best_of(kLooks) : Expected<ClockLevel>(ClockLevel{}); }

Expected<ClockLevel> SteadyClock::sentinel() {
  if (is_watched()) return raise();
  return surroundings_.sample ? best_of(kLooksOfHost) : Expected<ClockLevel>(ClockLevel{});
}

// One, if that is steady.
Expected<ClockLevel> SteadyClock::best_of(int samples) {
  ClockLevel level;
  for (int i = 0; i < samples && (i == 0 || !level.is_steady()); ++i) {
    const auto rates = surroundings_.sample();
    if (!rates) return rates.error();
    take(*rates);
    level.rates = larger_of(level.rates, *rates);
    level.of_plateau = std::min(part_of(level.rates, plateau_), 1.0);
    level.of_best = std::min(part_of(level.rates, best_), 1.0);
  }
  return level;
}

// A driver takes its time to raise a clock: below the plateau there is nothing to do except to go on working.
Expected<ClockLevel> SteadyClock::work_until_level() {
  const nanoseconds began = surroundings_.now(), least = plateau_.copied_bytes > 0 ? kQuiet : kLeast;
  const nanoseconds longest = has_given_up_ ? kShorter : kLongest;
  nanoseconds risen = began;
  for (Rates best;;) {
    const auto level = look();
    if (!level) return level;
    const nanoseconds now = surroundings_.now();
    if (rises(level->rates, best)) risen = now;
    const bool has_arrived = level->is_steady() && now - risen >= kQuiet && now - began >= least;
    if (has_arrived || now - began >= longest) return level;
  }
}

Expected<ClockLevel> SteadyClock::raise() {
  if (!is_watched()) return ClockLevel{};
  auto level = work_until_level();
  const int climbs = has_given_up_ ? 1 : kClimbs;
  nanoseconds rested{};
  for (int climb = 1; level && !level->is_steady() && (climb < climbs || rested < most_rest_); ++climb) {
    surroundings_.rest(kRest);
    rested += kRest;
    level = work_until_level();
  }
  if (!level || level->is_steady()) return level;
  plateau_ = level->rates;
  has_given_up_ = true;
  return level;
}

double base_us(const Rates& rates) {
  constexpr double kBytes = 1 << 26, kOperations = 1e9;
  if (rates.copied_bytes <= 0 || rates.operations <= 0) return 0;
  return kBytes / rates.copied_bytes + kOperations / rates.operations;
}

// ---- of a device ----------------------------------------------------------------------------------------------------

namespace {

constexpr double kSampleUs = 50;   // of each of the two kernels, as the device's profile estimates it
constexpr uint32_t kRepeats = 16;  // in a submission; the first is not counted

// A call, recorded many times; the recording keeps its outputs.
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
  // Far more than the cache has: of a copy that nearly fits, now more and now less lies there.
  constexpr double kLeastBytes = 1 << 16, kCaches = 4;
  const DeviceProfile& device = context.profile;
  const bool has_large_grids = device.max_workgroup_count[0] > UINT16_MAX;
  const double most_bytes = has_large_grids ? 1 << 28 : 1 << 26;
  const double beyond_cache = device.numbers.is_cpu ? 0 : kCaches * static_cast<double>(device.numbers.cache_bytes);
  const double wanted = std::max(kSampleUs * device.numbers.bytes_per_us, beyond_cache);
  const auto bytes = static_cast<uint64_t>(std::clamp(wanted, kLeastBytes, most_bytes));
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

// On a host, other programs interrupt some of the replays, and the shortest tells the clock.
Expected<double> rate_of(Context& context, Calibrator& calibrator) {
  const auto timing = context.executor.time(calibrator.recording);
  if (!timing) return timing.error();
  const auto begin = timing->intervals_us.begin() + 1, end = timing->intervals_us.end();
  const bool is_host = context.profile.numbers.is_cpu;
  const double us = is_host ? *std::min_element(begin, end) : std::reduce(begin, end) / (kRepeats - 1);
  return us > 0 ? calibrator.work / us : 0;
}

}  // namespace

Expected<SteadyClock> clock_of(Context& context) {
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
                      .rest = [](nanoseconds time) { std::this_thread::sleep_for(time); }},
                     context.profile.numbers.is_cpu ? SteadyClock::Of::host : SteadyClock::Of::gpu);
}

}  // namespace qgen::measure
