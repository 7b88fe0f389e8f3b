// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <tuple>

#include "copy_words.h"
#include "matrix_multiply_add.h"
#include "multiply_add.h"
#include "narrow_multiply_add.h"
#include "read_words.h"
#include "runtime/workshop/measure/clock.h"
#include "runtime/workshop/measure/timing.h"

namespace qgen::measure {
namespace {

constexpr int kRuns = 5;           // the best one counts
constexpr double kEnoughUs = 2e5;  // runs that took so long together: no more of them
constexpr double kRunUs = 400;     // a run that is long enough for its launch not to count
constexpr uint32_t kMostSteps = 1u << 20;
constexpr auto kRatesUntil = std::chrono::seconds(8);  // of the ten, launches being left
constexpr int kMostTries = 6;                          // of a rate
constexpr double kAgree = 0.9;                         // the second best, as a part of the best

using Clock = std::chrono::steady_clock;

// A profile in the making.
struct Findings {
  DeviceProfile profile;
  std::string source;
  Clock::time_point until;

  Expected<SettledRate> settled(const std::function<Expected<double>()>& measure) const {
    return settled_rate(measure, [this] { return Clock::now() < until; });
  }
  void keep(std::string_view key, double& number, double measured, bool is_settled = true) {
    if (measured <= 0) return;
    number = measured;
    profile.sources[std::string(key)] = is_settled ? source : source + ", and its runs differ too much: measure again";
  }
};

struct Recorded {
  PreparedCall call;
  std::optional<BoundCall> bound;
  std::optional<Recording> recording;
};

// `count` dispatches of the kernel `id`, or of the best one where it is empty; nullopt: the device cannot run it.
Expected<std::optional<Recorded>> record(Context& context, PreparedCall call, std::string_view id, uint32_t count = 1) {
  const Selection selection =
      select(call.call.problem, context.profile, context.library, {.force = std::string(id), .best_only = true});
  if (selection.ranked.empty()) return std::optional<Recorded>();
  const Choice& choice = selection.ranked.front();
  Recorded recorded{std::move(call), {}, {}};
  auto bound = bind(context, recorded.call.call, choice, recorded.call.arguments);
  if (!bound) return bound.error();
  recorded.bound = *std::move(bound);
  auto recording = context.executor.record(std::vector<Work>(count, Work{&choice, recorded.bound->operands}));
  if (!recording) return recording.error();
  recorded.recording = *std::move(recording);
  return std::optional<Recorded>(std::move(recorded));
}

// The least time of several runs, by the device's clock where it has one.
Expected<double> best_us(Context& context, Recording& recording, int runs = kRuns) {
  double best = 0, spent = 0;
  for (int i = 0; i <= runs && (i < 2 || spent < kEnoughUs); ++i) {  // the first is not counted
    double us = 0;
    if (context.profile.timestamp_period_ns > 0) {
      const auto timing = context.executor.time(recording);
      if (!timing) return timing.error();
      us = timing->device_us;
    } else {
      const auto began = Clock::now();
      if (Done ran = context.executor.run(recording); !ran) return ran.error();
      us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
    }
    spent += us;
    if (i > 0 && us > 0 && (best == 0 || us < best)) best = us;
  }
  return best;
}

// A kernel that does `work` in each step: of as many steps as take long enough. 0: the device cannot run it.
using MakeCall = std::function<PreparedCall(uint32_t steps)>;
Expected<double> steps_rate(Context& context, const MakeCall& make, std::string_view id, double work_of_step) {
  uint32_t steps = 17;
  for (;;) {
    auto recorded = record(context, make(steps), id);
    if (!recorded) return recorded.error();
    if (!*recorded) return 0.0;
    const auto is_enough = [&](double us) { return us >= kRunUs || steps >= kMostSteps; };
    auto us = best_us(context, *(*recorded)->recording, 1);
    // One run alone may be long because the machine did something else.
    if (us && is_enough(*us)) us = best_us(context, *(*recorded)->recording);
    if (!us) return us.error();
    if (is_enough(*us)) return *us > 0 ? work_of_step * steps / *us : 0.0;
    const double factor = std::clamp(1.5 * kRunUs / std::max(*us, 1.0), 2.0, 64.0);
    steps = static_cast<uint32_t>(std::min<double>(kMostSteps, steps * factor)) | 1u;  // odd: matrix_multiply_add
  }
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

constexpr uint32_t kOfAProcessor = 2048;  // invocations

// As many as fill the device several times over.
uint32_t invocations_of(const DeviceNumbers& device) {
  return kOfAProcessor * static_cast<uint32_t>(std::clamp<int64_t>(device.compute_units, 1, 1024));
}

template <typename Fields>
PreparedCall arithmetic_call(const Fields& fields) {
  PreparedCall call;
  call.call = make_call(fields, {.output = TensorDesc{DType::f32, {static_cast<int64_t>(fields.numel)}}});
  call.arguments = typename Fields::template Operands<Argument>{.output = Argument()};
  return call;
}

template <typename Fields>
Expected<double> arithmetic_rate(Context& context, std::string_view id, double operations_of_invocation) {
  const uint32_t numel = invocations_of(context.profile.numbers);
  return steps_rate(
      context, [&](uint32_t steps) { return arithmetic_call(Fields{.numel = numel, .steps = steps}); }, id,
      operations_of_invocation * numel);
}

std::string matrix_kernel(const CooperativeMatrixShape& shape) {
  return fmt::format("matrix_multiply_add.{}_{}/m{}n{}k{}.workgroup256", name(shape.a), name(shape.result), shape.m,
                     shape.n, shape.k);
}

// A processor has no units for matrices: its compiler makes vectors of them, and of these chains next to nothing.
Done measure_matrices(Context& context, Findings& findings) {
  DeviceProfile& profile = findings.profile;
  if (profile.numbers.is_cpu) return std::monostate{};
  const double subgroups =
      invocations_of(profile.numbers) / static_cast<double>(std::max<int64_t>(1, profile.numbers.subgroup_size));
  profile.matrix_rates.clear();
  std::map<DType, SettledRate> fastest;  // by the factors' dtype
  for (const CooperativeMatrixShape& shape : profile.cooperative_matrices) {
    const bool is_measured = shape.a == shape.b && shape.c == shape.result && !shape.workgroup_scope;
    if (!is_measured) continue;
    const double of_step = subgroups * 4 * 2 * shape.m * shape.n * shape.k;
    const auto measured = findings.settled([&] {
      return arithmetic_rate<generated::matrix_multiply_add::Problem>(context, matrix_kernel(shape),
                                                                      of_step / invocations_of(profile.numbers));
    });
    if (!measured) return measured.error();
    if (measured->rate <= 0) continue;
    profile.matrix_rates.push_back({shape, measured->rate});
    if (SettledRate& best = fastest[shape.a]; measured->rate > best.rate) best = *measured;
  }
  const auto keep = [&](std::string_view key, double& number, DType factor) {
    findings.keep(key, number, fastest[factor].rate, fastest[factor].is_settled);
  };
  keep("int8_matrix_ops_per_us", profile.numbers.int8_matrix_ops_per_us, DType::i8);
  keep("f16_matrix_ops_per_us", profile.numbers.f16_matrix_ops_per_us, DType::f16);
  return std::monostate{};
}

// ---- memory ---------------------------------------------------------------------------------------------------------

constexpr int64_t kLeastRead = int64_t{1} << 19;

int64_t most_bytes(const DeviceProfile& profile) {
  const auto memory = static_cast<int64_t>(std::min<uint64_t>(profile.device_memory_bytes / 4, uint64_t{1} << 40));
  const int64_t most = int64_t{profile.numbers.is_cpu ? 128 : 512} << 20;
  return std::max(kLeastRead, std::min({most, profile.numbers.max_storage_buffer_bytes, memory}));
}

Expected<double> copy_rate(Context& context) {
  const uint32_t copies = context.profile.numbers.is_cpu ? 1 : 4;
  const auto bytes = static_cast<uint64_t>(most_bytes(context.profile));
  auto call = copy_call(context, bytes);
  if (!call) return call.error();
  auto recorded = record(context, *std::move(call), "", copies);
  if (!recorded) return recorded.error();
  if (!*recorded) return 0.0;
  const auto us = best_us(context, *(*recorded)->recording);
  if (!us) return us.error();
  return *us > 0 ? copies * static_cast<double>(bytes) / *us : 0.0;
}

// `all` is as large as the largest buffer: kernels read its beginning.
Expected<double> read_rate(Context& context, const DeviceTensor& all, const ReadWalk& walk) {
  const auto make = [&](uint32_t steps) {
    const generated::read_words::Problem fields{
        .vectors = walk.vectors, .invocations = walk.invocations, .steps = steps, .stride = walk.stride};
    PreparedCall call;
    call.call = make_call(
        fields, {.input = desc_of(all), .output = TensorDesc{DType::u32, {static_cast<int64_t>(walk.invocations)}}});
    call.arguments = generated::read_words::Operands<Argument>{.input = &all, .output = Argument()};
    return call;
  };
  return steps_rate(context, make, "", 64.0 * walk.invocations);
}

Done measure_cache(Context& context, Findings& findings) {
  DeviceProfile& profile = findings.profile;
  const int64_t most = most_bytes(profile);
  auto all = context.executor.allocate(DType::u32, {most / 4}, Storage::buffer);
  if (!all) return all.error();
  std::vector<ReadRate> rates;
  bool are_settled = true;
  for (int64_t bytes = kLeastRead; bytes <= most; bytes = rates.size() % 2 ? bytes / 2 * 3 : bytes / 3 * 4) {
    const ReadWalk walk = read_walk(profile.numbers, bytes);
    const auto measured = findings.settled([&] { return read_rate(context, *all, walk); });
    if (!measured) return measured.error();
    rates.push_back({16 * int64_t{walk.vectors}, measured->rate});
    are_settled &= measured->is_settled;
  }
  if (const auto cache = find_cache(rates)) {
    profile.numbers.cache_bytes = cache->bytes;
    findings.keep("cache_bytes_per_us", profile.numbers.cache_bytes_per_us, cache->bytes_per_us, are_settled);
    profile.sources["cache_bytes"] = profile.sources["cache_bytes_per_us"];
  }
  return std::monostate{};
}

// ---- launches -------------------------------------------------------------------------------------------------------

constexpr uint32_t kDispatches = 256;

// The time that one dispatch adds to a submission, by the host's clock: timestamps between dispatches would make each
// wait.
Expected<double> dispatch_us(Context& context, Recording& one, Recording& many) {
  double best_one = 0, best_many = 0;
  for (int i = 0; i < 4 * kRuns; ++i) {
    for (auto [recording, best] : {std::pair(&one, &best_one), std::pair(&many, &best_many)}) {
      const auto began = Clock::now();
      if (Done ran = context.executor.run(*recording); !ran) return ran.error();
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
      if (*best == 0 || us < *best) *best = us;
    }
  }
  return std::max(0.0, (best_many - best_one) / (kDispatches - 1));
}

// An empty dispatch: one workgroup that calculates nothing. Those that write one tensor wait for each other.
Done measure_launches(Context& context, Findings& findings) {
  DeviceProfile& profile = findings.profile;
  const PreparedCall call = arithmetic_call(generated::multiply_add::Problem{.numel = 1, .steps = 0});
  const Selection selection = select(call.call.problem, profile, context.library, {.best_only = true});
  if (selection.ranked.empty()) return std::monostate{};
  const Choice& choice = selection.ranked.front();
  std::vector<BoundCall> bound;
  std::vector<Work> waiting, free;
  for (uint32_t i = 0; i < kDispatches; ++i) {
    auto next = bind(context, call.call, choice, call.arguments);
    if (!next) return next.error();
    bound.push_back(*std::move(next));
  }
  // bind() leaves the addresses of its own tensors, which stay valid when the vector that holds them moves.
  for (const BoundCall& each : bound) {
    waiting.push_back({&choice, bound.front().operands});
    free.push_back({&choice, each.operands});
  }
  auto one = context.executor.record({waiting.data(), 1});
  auto many_waiting = context.executor.record(waiting);
  auto many_free = context.executor.record(free);
  for (const auto* recording : {&one, &many_waiting, &many_free}) {
    if (!*recording) return recording->error();
  }
  const auto with_barrier = dispatch_us(context, *one, *many_waiting);
  if (!with_barrier) return with_barrier.error();
  const auto without = dispatch_us(context, *one, *many_free);
  if (!without) return without.error();
  constexpr double kLeastUs = 0.01;
  findings.keep("launch_us", profile.numbers.launch_us, std::max(kLeastUs, *with_barrier));
  findings.keep("barrier_us", profile.numbers.barrier_us, std::max(kLeastUs, *with_barrier - *without));
  return std::monostate{};
}

}  // namespace

Expected<SettledRate> settled_rate(const std::function<Expected<double>()>& measure,
                                   const std::function<bool()>& may_go_on) {
  double best = 0, second = 0;
  for (int tries = 0; tries < kMostTries && (tries < 2 || may_go_on()); ++tries) {
    const auto rate = measure();
    if (!rate) return rate.error();
    if (*rate <= 0) return SettledRate{};
    std::tie(best, second) = std::pair(std::max(best, *rate), std::max(second, std::min(best, *rate)));
    if (second >= kAgree * best) return SettledRate{best, true};
  }
  return SettledRate{best, false};
}

ReadWalk read_walk(const DeviceNumbers& device, int64_t bytes) {
  constexpr uint32_t kLine = 64;  // vectors in whole cache lines
  const auto most = static_cast<uint32_t>(bytes / 16);
  const uint32_t invocations = std::min(invocations_of(device), most);
  const uint32_t windows = most / invocations, vectors = windows * invocations;
  uint32_t step = windows / 3;
  while (std::gcd(step, windows) != 1) ++step;
  const uint32_t share = std::min(kOfAProcessor, invocations / (4 * windows) / kLine * kLine);
  const uint64_t stride = uint64_t{step} * invocations + share;
  return {vectors, invocations, static_cast<uint32_t>(stride % vectors)};
}

std::optional<CacheFinding> find_cache(std::span<const ReadRate> rates) {
  if (rates.empty()) return std::nullopt;
  constexpr double kVisible = 1.3;  // less is noise
  const double memory = rates.back().bytes_per_us;
  size_t held = rates.size();
  while (held > 0 && rates[held - 1].bytes_per_us < kVisible * memory) --held;
  if (held == 0) return std::nullopt;
  const ReadRate& largest = rates[held - 1];
  const auto half = std::ranges::find_if(rates, [&](const ReadRate& rate) { return 2 * rate.bytes >= largest.bytes; });
  return CacheFinding{largest.bytes, half->bytes_per_us};
}

Expected<DeviceProfile> measured_numbers(Context& shipped, const std::string& source, const OnStep& on_step) {
  Findings findings{shipped.profile, source, Clock::now() + kRatesUntil};
  auto clock = clock_of(shipped);
  if (!clock) return clock.error();
  if (const auto level = clock->raise(); !level) return level.error();

  const auto keep = [&](std::string_view key, double& number,
                        const std::function<Expected<double>()>& measure) -> Done {
    const auto measured = findings.settled(measure);
    if (!measured) return measured.error();
    findings.keep(key, number, measured->rate, measured->is_settled);
    return std::monostate{};
  };
  DeviceNumbers& numbers = findings.profile.numbers;
  const std::function<Done()> steps[] = {
      [&] { return keep("bytes_per_us", numbers.bytes_per_us, [&] { return copy_rate(shipped); }); },
      [&] { return measure_cache(shipped, findings); },
      [&] {
        return keep("f32_ops_per_us", numbers.f32_ops_per_us,
                    [&] { return arithmetic_rate<generated::multiply_add::Problem>(shipped, "", 8); });
      },
      [&] {
        return keep("f16_ops_per_us", numbers.f16_ops_per_us, [&] {
          return arithmetic_rate<generated::narrow_multiply_add::Problem>(shipped, "narrow_multiply_add.f16", 32);
        });
      },
      [&] {
        return keep("int8_ops_per_us", numbers.int8_ops_per_us, [&] {
          return arithmetic_rate<generated::narrow_multiply_add::Problem>(shipped, "narrow_multiply_add.int8", 32);
        });
      },
      [&] { return measure_matrices(shipped, findings); },
      [&] { return measure_launches(shipped, findings); },
  };
  for (size_t i = 0; i < std::size(steps); ++i) {
    if (on_step) on_step(i, std::size(steps));
    if (Done done = steps[i](); !done) return done.error();
  }
  return std::move(findings.profile);
}

}  // namespace qgen::measure
