// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One measured time of a choice for a problem. The store keeps such rows, tuning files list them, and the generator
// compiles them into its tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace qgen::tuning {

// No dispatch takes a nanosecond, and nobody waits for one of eleven days.
constexpr double kLeastUs = 1e-3, kMostUs = 1e12;

struct TunedRow {
  std::string problem;          // key_of()
  std::string kernel;           // Choice::id
  uint64_t digest = 0;          // digest_of() of the choice: of the SPIR-V that was measured
  double us = 0;                // the median
  double low_us = 0;            // at most a tenth of the samples is below
  double high_us = 0;           // a tenth is above
  std::string date;             // of the measurement, UTC: "2026-11-23"
  std::string statistics = {};  // the driver's report on its pipelines, a JSON object for each launch; empty: none
  bool is_cold = false;         // the cache, of weights (runtime/workshop/measure/timing.h)
  bool is_final = false;        // of the newest final round of the problem, in which the best met
  uint32_t samples = 0;         // the number of samples whose median is `us`; 0: not known, 1: a first look
  // How fast the device was while this was measured, as a part of its best in that tuning, with three digits. 1: within
  // 3 % of it, or not known. Less: the row is marked, and its time is too long.
  double clock = 1;

  bool is_marked() const { return clock < 1; }
  friend bool operator==(const TunedRow&, const TunedRow&) = default;
};

// Rows that are left out for one reason.
struct LeftOut {
  size_t rows = 0;
  std::string first;  // its kernel, or where it is
  void add(std::string_view one) {
    if (rows++ == 0) first = one;
  }
};

// The one order of rows, by which all choose, list and export: by problem, then times of the final round, then by time.
// Rounds that came before a final may have met a quieter machine, so their shorter times say nothing against it.
inline auto order_of(const TunedRow& row) {
  return std::tuple<const std::string&, bool, double, const std::string&, bool>(row.problem, !row.is_final, row.us,
                                                                                row.kernel, row.is_cold);
}

// The rows by which a problem's kernels are compared, in order. If the problem has rows with a cold cache, only those,
// since a network reads other weights between two calls of a layer; else all.
std::vector<TunedRow> comparable(std::vector<TunedRow> rows);

// Refuses impossible measurements: "its time of -5 us is none", "its date '2026-13-45' is none". Empty: nothing.
std::string fault_of(const TunedRow& row);

}  // namespace qgen::tuning
