// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One measurement: how long a choice took for a problem. What the store keeps, tuning files list and the generator
// compiles into its tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qgen::tuning {

struct TunedRow {
  std::string problem;     // key_of()
  std::string kernel;      // Choice::id
  uint64_t digest = 0;     // digest_of() of the choice: of the SPIR-V that was measured
  double us = 0;           // the median
  double low_us = 0;       // a tenth of the samples lies below
  double high_us = 0;      // a tenth lies above
  std::string date;        // of the measurement, UTC: "2026-11-23"
  std::string statistics;  // what the driver says of its pipelines, a JSON object for each launch; empty: nothing
  bool is_cold = false;    // the cache, of weights (runtime/measure/timing.h)

  friend bool operator==(const TunedRow&, const TunedRow&) = default;
};

// The rows by which a problem's kernels are compared, in their order: of a problem that has any with a cold cache those
// alone, since a network reads other weights between two calls of a layer; else all.
std::vector<TunedRow> comparable(std::vector<TunedRow> rows);

}  // namespace qgen::tuning
