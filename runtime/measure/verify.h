// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether the kernels of an operator compute what they should: each that applies, by trial (trial.h), in each way
// (ways.h).
//
//   const Verdict verdict = verify(context, *entry, request, judge, {.all_kernels = true});
//   for (const Finding& finding : verdict.findings) ...
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/calls/registry.h"
#include "runtime/measure/compare.h"
#include "runtime/measure/ways.h"
#include "runtime/reference/references.h"

namespace qgen::measure {

struct Expectation {
  Tensors outputs;
  std::map<std::string, Tolerance, std::less<>> tolerances;    // of an output without one: to the bit
  std::map<std::string, reference::Exact, std::less<>> exact;  // of outputs that are made of reals
};
// These outputs, within the tolerance that the operator's spec says.
Expectation expectation_of(const OperatorInfo& op, Tensors outputs);
// What the operator's reference gives, within the tolerance that its spec says; nullopt: it has none.
std::optional<Expectation> expectation_by_reference(const OperatorEntry& entry, const Request& request,
                                                    reference::Answers answers = reference::answer);
// What is wrong with an output; empty: nothing. Halves are widened where floats are expected.
Comparison compare(const HostTensor& got, const Expectation& expected, std::string_view output);

// What a request, complete and put into a way, should give: all of it. Nothing: nobody knows, and the way is left out.
using Judge = std::function<std::vector<Expectation>(const Way& way, const Request& request)>;

struct VerifyOptions {
  bool all_kernels = false;         // else the best, as the request stands
  bool all_specializations = true;  // of all kernels; else the best of each variant
  bool all_step_kernels = true;     // of all kernels; else the best that each recipe has
  bool in_all_ways = true;          // of all kernels; else as the request stands
  std::string kernel;               // only this, wherever it applies
};

struct Finding {
  std::string kernel;  // empty: it is not one kernel's
  std::string way;
  std::string fault;
};
struct SkippedWay {
  std::string way, reason;
};
struct Verdict {
  size_t runs = 0;
  std::set<std::string> kernels;  // variants and recipes that ran
  double largest_error = 0;
  std::vector<Finding> findings;
  std::vector<SkippedWay> skipped;  // the device cannot hold a tensor so: an image would be too wide
};

// `request` as complete() takes it.
Verdict verify(Context& context, const OperatorEntry& entry, const Request& request, const Judge& judge,
               const VerifyOptions& options);
// One prepared call on every choice, or on the best; adds to `verdict`.
void verify(Context& context, const PreparedCall& prepared, std::span<const Expectation> expected,
            const VerifyOptions& options, const std::string& way, Verdict& verdict);

}  // namespace qgen::measure
