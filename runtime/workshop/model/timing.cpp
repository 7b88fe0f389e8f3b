// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/timing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common/progress.h"
#include "common/stopwatch.h"
#include "common/time_text.h"
#include "runtime/workshop/measure/clock.h"
#include "runtime/workshop/measure/timing.h"

namespace qgen::model {
namespace {

using graph::Prepared;

// Unless --replays says how many: so many replays, or as many as take this time together.
constexpr uint32_t kReplays = 200, kLeastReplays = 3;
constexpr double kTimingMs = 10'000;
// A first run that takes less is repeated: a part of its time was for what later ones find ready.
constexpr double kShortMs = 2'000;
// At most so many replays are divided into layers.
constexpr uint32_t kProfiled = 50;

struct Headline {
  measure::Spread device_us, submit_us, wall_us;
};

// Each is run by the device's clock and by the host's, and some again for the profile.
struct Replays {
  uint32_t timed = 0, profiled = 0;
  double ms = 0;  // about all of them together
};

Replays replays_of(const TimingOptions& options, double replay_ms) {
  const double fit = kTimingMs / (2 * std::max(replay_ms, 1e-3));
  const uint32_t timed = options.replays != 0 ? options.replays
                         : fit < kReplays     ? std::max(kLeastReplays, static_cast<uint32_t>(fit))
                                              : kReplays;
  Replays replays{timed, options.has_profile ? std::min(timed, kProfiled) : 0};
  replays.ms = replay_ms * (2.0 * replays.timed + replays.profiled);
  return replays;
}

// A person who waits for seconds is told beforehand.
std::string timing_text(const Replays& replays) {
  if (replays.ms < 2000) return "";
  return fmt::format("timing: {} replays by each clock{}; about {:.0f} s\n", replays.timed,
                     replays.profiled > 0 ? fmt::format(", and {} divided into layers", replays.profiled) : "",
                     replays.ms / 1e3);
}

Done write_inputs(const TimingOptions& options) {
  return options.write_inputs ? options.write_inputs() : Done(std::monostate{});
}

Expected<double> ms_of_a_replay(Prepared& prepared, const TimingOptions& options) {
  if (options.run_ms > kShortMs) return options.run_ms;
  if (Done written = write_inputs(options); !written) return written.error();
  Stopwatch watch;
  if (Done done = prepared.replay(); !done) return done.error();
  return std::min(options.run_ms, watch.lap_ms());
}

Expected<Headline> time(Prepared& prepared, uint32_t replays, const TimingOptions& options, Progress& progress) {
  std::vector<double> device, submit, wall;
  for (uint32_t i = 0; i < replays; ++i) {
    progress.show("time", i, replays);
    if (Done written = write_inputs(options); !written) return written.error();
    const auto timing = prepared.time();
    if (!timing) return timing.error();
    device.push_back(timing->device_us);
    submit.push_back(timing->submit_us);
    if (Done written = write_inputs(options); !written) return written.error();
    Stopwatch watch;
    if (Done done = prepared.replay(); !done) return done.error();
    wall.push_back(1e3 * watch.lap_ms());
  }
  return Headline{measure::spread_of(std::move(device)), measure::spread_of(std::move(submit)),
                  measure::spread_of(std::move(wall))};
}

std::string headline_text(const Headline& times) {
  const auto text = [](const measure::Spread& us) {
    return fmt::format("{} us ({} to {})", us_text(us.median), us_text(us.low), us_text(us.high));
  };
  std::string line = fmt::format(
      "time: {} by the device's clock; {} from call to return, {} us of it for "
      "submission\n",
      text(times.device_us), text(times.wall_us), us_text(times.submit_us.median));
  if (times.device_us.high > 1.1 * times.device_us.median)
    line += "warning: the times vary by more than a tenth: another program uses the device, or its clock changes\n";
  return line;
}

Expected<std::vector<std::vector<double>>> profile(Prepared& prepared, uint32_t replays, const TimingOptions& options,
                                                   Progress& progress) {
  std::vector<std::vector<double>> samples;
  for (uint32_t i = 0; i < replays; ++i) {
    progress.show("profile", i, replays);
    if (Done written = write_inputs(options); !written) return written.error();
    auto times = prepared.step_times_us();
    if (!times) return times.error();
    samples.push_back(*std::move(times));
  }
  return samples;
}

}  // namespace

Expected<Times> measured_times(Context& context, Prepared& prepared, const TimingOptions& options) {
  auto clock = measure::clock_of(context);
  if (!clock) return clock.error();
  if (const auto level = clock->raise(); !level) return level.error();
  const auto replay_ms = ms_of_a_replay(prepared, options);
  if (!replay_ms) return replay_ms.error();
  const Replays replays = replays_of(options, *replay_ms);
  fmt::print("{}", timing_text(replays));
  std::fflush(stdout);
  Progress progress(::isatty(STDERR_FILENO) != 0);
  const auto headline = time(prepared, replays.timed, options, progress);
  progress.clear();
  if (!headline) return headline.error();
  fmt::print("{}", headline_text(*headline));
  Times times{.device_us = headline->device_us.median, .samples = {}};
  if (replays.profiled == 0) return times;
  auto profiled = profile(prepared, replays.profiled, options, progress);
  if (!profiled) return profiled.error();
  times.samples = *std::move(profiled);
  return times;
}

}  // namespace qgen::model
