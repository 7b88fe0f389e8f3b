// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures a device's clock by the speed of copies and calculations, and raises it by work before anything is timed.
//
// An idle GPU runs at a third of its clock, and a hot one below its maximum. Neither is reported. On an NVIDIA H200,
// twenty replays of a kernel do not raise the clock. After a second of idling, some hundred milliseconds of work do.
// So:
//
//   SteadyClock clock(samples_of(calibrator));
//   clock.raise();                        // works until the rates rise no more: the plateau
//   ... time something ...
//   if (!clock.look()->is_steady()) ...   // what was timed since was timed below the plateau
//
// The plateau is the best value of each rate so far that two samples in a row agree on. Nothing here knows the device's
// maximum.
//
// A device may never come back to its plateau: it is hotter now, or at its power limit. raise() works and rests for some
// ten seconds, once. Then it takes the level that it found for the plateau. Without that, each race on such a device
// waited three times for ten seconds (an H100, in a tuning of 70 problems).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "runtime/engine/calls/call.h"

namespace qgen::measure {

// Work done in a microsecond: of memory and of the processors, whose clocks differ.
struct Rates {
  double copied_bytes = 0;
  double operations = 0;
};

struct ClockLevel {
  Rates rates;            // now
  double of_plateau = 1;  // the lesser of both, each as a part of the plateau
  double of_best = 1;     // the same, as a part of the best plateau so far
  bool is_steady() const { return of_plateau >= kSteady; }
  static constexpr double kSteady = 0.97;
};

class SteadyClock {
 public:
  struct Surroundings {
    std::function<Expected<Rates>()> sample;  // works the device for a moment, and says how fast it was
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(std::chrono::nanoseconds)> rest;
  };
  // Whose clock it is: work raises that of a GPU; a host's processor keeps its own, which is always steady.
  enum class Of : uint8_t { gpu, host };
  SteadyClock() = default;
  explicit SteadyClock(Surroundings surroundings, Of of = Of::gpu) : surroundings_(std::move(surroundings)), of_(of) {}

  // Works the device until it is at its plateau and neither rate rises any more. A device that does not come there in
  // seconds may be too hot or past its power: it rests, and tries again. If that does not help either, the level is
  // not steady, and is the plateau from now on.
  Expected<ClockLevel> raise();
  // The best of a few samples, one if that is steady.
  Expected<ClockLevel> look();
  // How fast the device is now, beside its best so far: of a GPU at its plateau, of a host as it is. On a host, it looks
  // longer, since other programs interrupt most samples there.
  Expected<ClockLevel> sentinel();
  // raise() rests so long, if need be, until the device is at its plateau again: for one that has to cool.
  void wait_for_plateau(std::chrono::nanoseconds most) { most_rest_ = most; }

 private:
  bool is_watched() const { return surroundings_.sample && of_ == Of::gpu; }
  Expected<ClockLevel> work_until_level();
  Expected<ClockLevel> best_of(int samples);
  void take(const Rates& rates);

  Surroundings surroundings_;
  Of of_ = Of::gpu;
  std::chrono::nanoseconds most_rest_{};
  Rates plateau_, best_;  // the plateau now, and the highest so far
  Rates last_;            // sample
  bool has_given_up_ = false;
};

// The time in which a device of these rates copies 64 MiB and does 10^9 operations: one number by which the results of
// several devices are weighed. 0: a rate is unknown.
double base_us(const Rates& rates);

// The clock of a context's device, by copy_words and multiply_add of the shipped kernels, which are the context's. The
// clock uses the context.
Expected<SteadyClock> clock_of(Context& context);

}  // namespace qgen::measure
