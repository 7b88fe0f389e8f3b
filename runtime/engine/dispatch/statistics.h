// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A driver's statistics of its pipelines: registers, spills, shared memory, code size, under the driver's names. They
// exist only if the device was opened with OpenOptions::pipeline_statistics.
//
//   for (const Statistic& s : (*executor.statistics(choice))[0]) fmt::print("{}: {}\n", s.name, s.value);
//   to_json(*executor.statistics(choice))    // [{"Register Count": 40, "Stack Size": 0}]
#pragma once

#include <span>
#include <string>
#include <vector>

namespace qgen {

struct Statistic {
  // "Register Count"; "SIMD16: Instruction Count" of a driver that makes several programs of a kernel.
  std::string name;
  std::string value;  // a number as JSON has it, "true" or "false"
  friend bool operator==(const Statistic&, const Statistic&) = default;
};

// A choice's: an object for each of its launches.
std::string to_json(std::span<const std::vector<Statistic>> launches);

}  // namespace qgen
