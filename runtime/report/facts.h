// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a page says of a tuned device, as numbers: each problem with its measured kernels, what the specs estimate for
// them, what would be chosen without the measurements, and how much work the problem is.
//
//   const Facts facts = facts_of(file, library);
//   facts.problems[0].gain()      // 1.3: the untuned choice takes 1.3 times as long as the best
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/report/work.h"
#include "runtime/tuning/tuning_file.h"

namespace qgen::report {

struct KernelFact {
  tuning::TunedRow row;
  double estimated_us = 0;  // 0: this library does not have the kernel, or not for this problem
};

struct ProblemFact {
  std::string key;
  std::string name;  // name_problems()
  std::optional<Work> work;
  std::vector<KernelFact> kernels;  // fastest first; at least one
  std::optional<size_t> untuned;    // of kernels; none: the library lacks the problem, or its choice was not measured
  std::string_view op() const { return operator_of(key); }
  double best_us() const { return kernels.front().row.us; }
  // Nothing: it is not known, or a time is 0.
  std::optional<double> gain() const;
};

struct Facts {
  DeviceProfile device;
  std::vector<ProblemFact> problems;  // by key
};

// A name is the first words of the key behind its operator, and a few further ones where these tell problems of the same
// first words apart: "m=128 n=64 ... stride=2,2".
void name_problems(std::vector<ProblemFact>& problems);

// `file.rows` by problem, then time, as tuning files and the store have them.
Facts facts_of(const tuning::TuningFile& file, const KernelLibrary& library);

// Of problems of which it is known: how often the untuned choice is within 10 % of the best, and what it costs.
struct GainSummary {
  size_t problems = 0, within_tenth = 0;
  double geometric_mean = 1, worst = 1;
};
GainSummary summary_of(const std::vector<ProblemFact>& problems);

}  // namespace qgen::report
