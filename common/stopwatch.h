// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures how long something takes, for people.
//
//   Stopwatch watch;
//   read();
//   const double read_ms = watch.lap_ms();
//   build();
//   const double build_ms = watch.lap_ms();   // of build() alone
#pragma once

#include <chrono>
#include <utility>

namespace qgen {

class Stopwatch {
 public:
  // Milliseconds since the last lap, or since it was made.
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace qgen
