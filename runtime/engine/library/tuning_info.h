// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measured times of a device as tables, which `qgen --tuning` compiles into a library.
//
//   for (const TuningInfo* tuning : library.tunings()) {
//     for (const TunedTime& time : tuning->times_of(key_of(problem))) ... tuning->choices[time.choice], time.us
//   }
//
// A time belongs to the SPIR-V in the library: qgen compared the digests. On another device it shows how kernels
// compare. With `numbers`, costs can be computed for both devices.
#pragma once

#include <algorithm>
#include <iterator>

#include "runtime/engine/library/kernel_info.h"

namespace qgen {

struct TunedTime {
  uint32_t choice;  // index into TuningInfo::choices
  float us;
  bool is_cold = false;    // the cache, of weights, while it was measured
  bool is_final = false;   // of the final round of a tuning
  bool is_marked = false;  // the device was slower than its best meanwhile
};

struct TunedProblem {
  std::string_view key;  // key_of() of the problem
  uint32_t end;          // where its times end; they begin at the end of the previous problem's
};

struct TuningInfo {
  std::string_view name;  // of the device
  uint32_t vendor_id;
  uint32_t device_id;
  std::string_view architecture = {};  // empty: unknown
  std::string_view driver_name = {};
  std::string_view driver_info = {};
  std::string_view date = {};  // of the newest time: "2026-11-23"
  DeviceNumbers numbers = {};
  std::span<const std::string_view> choices = {};  // Choice::id
  std::span<const TunedProblem> problems = {};     // by key
  std::span<const TunedTime> times = {};           // of each problem first the times of a final round, then by time

  // Of a problem that was not measured: none.
  constexpr std::span<const TunedTime> times_of(std::string_view key) const {
    const auto problem = std::ranges::lower_bound(problems, key, {}, &TunedProblem::key);
    if (problem == problems.end() || problem->key != key) return {};
    const uint32_t begin = problem == problems.begin() ? 0 : std::prev(problem)->end;
    return times.subspan(begin, problem->end - begin);
  }
};

}  // namespace qgen
