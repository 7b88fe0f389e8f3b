// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is known of a problem's kernels besides the spec's costs: times that somebody measured, and how far each can be
// trusted. select() ranks by the most trusted source that knows a kernel, and by time within one source.
//
//   const KernelTimes times = {{"row_sum.vec4/workgroup256", {.us = 12.5, .said = "measured 2026-11-23"}}};
//   select(problem, profile, library, {.times = &times});
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace qgen {

// Where the time that a choice is ranked by comes from; the most trusted first.
enum class TimeSource : uint8_t {
  measured,      // this problem, on this device and driver
  near,          // a problem like it, on this device and driver
  device,        // a table of this model of device: of another driver, or of another of its kind
  architecture,  // a table of another device of its architecture
  estimated,     // the spec's cost
};

struct KnownTime {
  double us = 0;  // as it was measured; microseconds
  TimeSource source = TimeSource::measured;
  // What the spec's cost says of that problem on that device: a cost of c here means us * c / cost_us. 0: the time is
  // of this very problem on such a device, and is taken as it is.
  double cost_us = 0;
  std::string said = "measured";  // for people: "measured 2026-11-23", "near 512x4096x4096, by the ratio of costs"
};

// Of one problem, by Choice::id. What is named there and fits is a choice, even a recipe with other steps than would be
// picked; what does not fit or does not exist is passed over.
using KernelTimes = std::map<std::string, KnownTime, std::less<>>;

}  // namespace qgen
