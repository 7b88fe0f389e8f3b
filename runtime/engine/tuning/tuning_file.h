// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measurements as YAML that people read, merge and commit, and that the generator compiles into its tables: a device,
// and the time of each kernel for each problem there.
//
//   device:
//     name: NVIDIA H200
//     ...                                       # as profiles/device_file.h has it
//   problems:
//   - problem: q8ta_linear m=512 n=4096 k=4096 input=i8:strided ...
//     kernels:
//     - {id: q8ta_linear.gemv(...), us: 12.5, low: 12.4, high: 12.9, digest: 0f3c11aa22bb33cc, date: 2026-11-23,
//        final: true, samples: 60}
//
// `final`, `samples` and `clock` are TunedRow's. A file without them is an older one: its rows are ordered by time alone.
//
// The result of `qgen-tune --out` has a key `base` for each problem too: how long the device took for a fixed piece of
// work (measure::base_us()) before, while and after the problem was tuned. Results of several devices are weighed by it
// (runtime/workshop/tuner/fleet.h).
//
// A file that to_yaml() wrote is read line by line, a million rows in seconds. Any other is read as YAML, with the line
// of every fault.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/tuning/tuned_row.h"

namespace qgen::tuning {

struct TuningFile {
  DeviceProfile device;
  std::vector<TunedRow> rows;                               // by order_of()
  std::map<std::string, uint32_t, std::less<>> lines = {};  // where the file has each problem; of no file: none
  std::map<std::string, std::vector<double>, std::less<>> base_us = {};  // of each problem; none: it is no result
};

// Errors have the place, all of them at once. Rows that no measurement can be are errors (fault_of()).
Expected<TuningFile> read_tuning_file(const std::string& file, std::string_view text);
Expected<TuningFile> load_tuning_file(const std::string& path);
// As read_tuning_file() reads it.
std::string to_yaml(const TuningFile& file);

// Of devices of one model, the first in this order stands for all of them in a merged file: one of those with the most
// measured numbers.
std::tuple<size_t, std::string, std::string> standing_of(const DeviceProfile& device);

// The rows of all files, whatever their order. Of a problem, kernel and cache that several have, one without a mark
// counts, then the newer, of one day the faster. Of several finals of one problem, one without marks is the final, then
// the newer.
std::vector<TunedRow> merged(std::vector<std::vector<TunedRow>> all);

}  // namespace qgen::tuning
