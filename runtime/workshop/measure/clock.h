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
// The plateau is the best value of each rate so far. Nothing here knows the device's maximum.
#pragma once

#include <chrono>
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
  double of_plateau = 1;  // the lesser of both, each as a part of the best that was seen
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
  SteadyClock() = default;  // of a device that keeps its own: always steady
  explicit SteadyClock(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

  // Works the device until it is at its plateau and neither rate rises any more. A device that does not come there in
  // seconds may be too hot or past its power: it rests, and tries again.
  Expected<ClockLevel> raise();
  // The best of a few samples, one if that is steady.
  Expected<ClockLevel> look();

 private:
  Expected<ClockLevel> work_until_level();

  Surroundings surroundings_;
  Rates plateau_;
};

// The clock of a context's device, by copy_words and multiply_add of the shipped kernels, which are the context's. The
// clock uses the context. A host's processor keeps its own clock.
Expected<SteadyClock> clock_of(Context& context);

}  // namespace qgen::measure
