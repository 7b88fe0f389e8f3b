// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Merges the results of many devices of one model (`qgen-tune --shard I/N --out FILE`) into one table. The table does
// not depend on the order of the results, nor on how often one of them is given.
//
//   FleetTable table = merged_fleet({{"a.yaml", a}, {"b.yaml", b}});
//   write_file("table.yaml", to_yaml(table.file));
//
// Each row of the table is made of one answer of each device:
//
//   1  of a device that answered several times, the answer with the steadiest clock, then the newest one, then the one
//      of most samples
//   2  divided by the device's base time while it tuned that problem, times the median base time of all devices. So a
//      device that is 5 % slower in everything counts as one that is not
//   3  without answers of a device that drifted by more than 3 % meanwhile, if others are left
//   4  without answers of devices that lie: whose answers differ from the medians of the rows by more than 10 %, in the
//      median of at least kLeastCompared rows that three devices answered
//   5  the median of those that are left
//
// Tried with 50 simulated devices, of which some drift, lie, die or answer twice: all rows are within 1 % of the truth
// (tests/runtime/workshop/tuner/fleet_test.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/tuning/tuning_file.h"

namespace qgen::tuner {

struct FleetResult {
  std::string name;  // of the file, for messages
  tuning::TuningFile file;
};

// What became of the answers of one row.
struct FleetDecision {
  std::string problem, kernel;
  bool is_cold = false;
  uint32_t answers = 0;    // of devices
  uint32_t drifted = 0;    // left out, as their devices drifted
  uint32_t lied = 0;       // left out, as their devices lie
  bool is_marked = false;  // only devices that drifted answered
  double spread = 0;       // of those that count: the largest over the smallest, minus one
};

struct FleetTable {
  tuning::TuningFile file;
  std::vector<FleetDecision> decisions;  // of each row of the table, in its order
  std::vector<std::string> told;         // sentences: devices that were left out, and numbers of rows
};

constexpr size_t kLeastCompared = 5;

// `results` are of one device model and driver, one at least. The rows' problems must have base times.
FleetTable merged_fleet(std::vector<FleetResult> results);

// As tab-separated values, whose first column is the device. The head is a line of its own.
std::string decisions_head();
std::string to_text(std::string_view device, const std::vector<FleetDecision>& decisions);

}  // namespace qgen::tuner
