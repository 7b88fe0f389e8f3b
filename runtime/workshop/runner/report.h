// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Results, for people and as JSON.
#pragma once

#include "runtime/workshop/measure/timing.h"
#include "runtime/workshop/runner/conformance.h"

namespace qgen::runner {

struct CaseReport {
  std::string device;
  std::string folder;
  std::vector<CaseResult> results;
  bool has_references = true;  // else results were compared only with the cases' expected values

  size_t count(CaseResult::Kind kind) const;
};
std::string lines_of(const CaseResult& result, std::string_view program);  // which runs a failed case again
std::string summary_of(const CaseReport& report);
std::string to_json(const CaseReport& report);

struct OutputTensor {
  std::string name;
  HostTensor tensor;
  std::string file;  // where it was saved; empty: nowhere
};
struct RunReport {
  std::string device;
  std::string kernel;
  std::vector<OutputTensor> made;
};
std::string to_text(const RunReport& report);

// The driver's statistics of a choice's pipelines, one block per launch.
std::string to_text(const Choice& choice, std::span<const std::vector<Statistic>> launches);

struct TimedKernel {
  std::string id;
  measure::Spread device_us;
};
struct TimeReport {
  std::string device;
  std::string question;  // Selection's
  uint64_t bytes_moved = 0;
  measure::Spread copy_us;
  std::vector<TimedKernel> kernels;  // as select() ranks them by these times
  measure::ClockLevel clock;
  bool is_cold = false;  // measure::TimingOptions
};
std::string to_text(const TimeReport& report);
std::string to_json(const TimeReport& report);

// Both do nothing if no file is named.
Done check_can_write_json(const std::string& file);
Done write_json(const std::string& file, const std::string& json);

}  // namespace qgen::runner
