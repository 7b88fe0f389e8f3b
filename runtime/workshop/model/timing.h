// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Times of a prepared model. measured_times() prints them, and says before it starts if it takes seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/models/graph/prepared.h"

namespace qgen::model {

struct TimingOptions {
  uint32_t replays = 0;      // 0: 200, or as many as take ten seconds
  bool has_profile = false;  // also times each step
  double run_ms = 0;         // of the first run
  // Before each replay, for a model whose time depends on its inputs: the memory of inputs holds other tensors after
  // their last reader. May be empty.
  std::function<Done()> write_inputs = {};
};

struct Times {
  double device_us = 0;                      // the median of a replay without timestamps between its steps
  std::vector<std::vector<double>> samples;  // of each replay the microseconds of each step; empty: no profile
};

Expected<Times> measured_times(Context& context, graph::Prepared& prepared, const TimingOptions& options);

}  // namespace qgen::model
