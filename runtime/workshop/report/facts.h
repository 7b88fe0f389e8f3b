// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The numbers of a report about a tuned device: each problem with its measured kernels, their estimates, the untuned
// choice, and the problem's bytes and operations.
//
//   const Facts facts = facts_of(file, library);
//   facts.problems[0].gain()      // 1.3: the untuned choice takes 1.3 times as long as the best
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/workshop/report/work.h"

namespace qgen::report {

struct KernelFact {
  tuning::TunedRow row;
  double estimated_us = 0;  // 0: this library does not have the kernel, or not for this problem
};

struct ProblemFact {
  std::string key;
  std::string name;  // name_problems()
  std::optional<Work> work;
  std::vector<KernelFact> kernels;  // by tuning::order_of(); at least one
  std::optional<size_t> untuned;    // of kernels; none: the library lacks the problem, or its choice was not measured
  std::string_view op() const { return operator_of(key); }
  double best_us() const { return kernels.front().row.us; }
  // Nothing: it is not known, a time is 0, or the two are of different rounds.
  std::optional<double> gain() const;
};

struct Facts {
  DeviceProfile device;
  std::vector<ProblemFact> problems;  // by key
};

// A name is the first values of the key after the operator, and further ones if they distinguish problems with the same
// first values: "m=128 n=64 ... stride=2,2".
void name_problems(std::vector<ProblemFact>& problems);

// `file.rows` by tuning::order_of(), as tuning files and the store have them.
Facts facts_of(const tuning::TuningFile& file, const KernelLibrary& library);

// For problems with a known untuned choice: how often it is within 10 % of the best, and its slowdown.
struct GainSummary {
  size_t problems = 0, within_tenth = 0;
  double geometric_mean = 1, worst = 1;
};
GainSummary summary_of(const std::vector<ProblemFact>& problems);

}  // namespace qgen::report
