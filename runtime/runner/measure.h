// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How long a choice takes on the device, by GPU timestamps. A submission holds the choice several times, one after the
// other, and the first of each, which finds an idle device, is not counted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/operators/registry.h"

namespace qgen::runner {

struct Spread {  // of microseconds
  double median = 0;
  double low = 0, high = 0;  // a tenth lies below, a tenth above
};
Spread spread_of(std::vector<double> samples);

struct Measurement {
  std::string kernel;
  Spread device_us;
};
struct MeasureOptions {
  uint32_t replays = 60;                // counted, at least
  std::function<void()> on_submission;  // hears of each, once it is done; may be empty
};
// How many submissions one measurement takes.
uint32_t submissions_of(const MeasureOptions& options);
Expected<Measurement> measure(Context& context, const PreparedCall& prepared, const Choice& choice,
                              const MeasureOptions& options);

// What the operands hold, each counted as often as it must at least be moved: once if it is read or written, twice if
// both.
uint64_t bytes_moved(const PreparedCall& prepared);
// Copying half as many bytes by a kernel, which reads and writes them.
Expected<Spread> measure_copy(Context& context, uint64_t bytes_moved, const MeasureOptions& options);

}  // namespace qgen::runner
