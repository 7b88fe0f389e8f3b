// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Verifies the kernels of an operator: each that fits, by a trial (trial.h), in each combination of formats
// (request_formats.h).
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

#include "runtime/engine/calls/registry.h"
#include "runtime/workshop/measure/compare.h"
#include "runtime/workshop/measure/kernel_sample.h"
#include "runtime/workshop/measure/request_formats.h"
#include "runtime/workshop/reference/references.h"

namespace qgen::measure {

struct Expectation {
  Tensors outputs;
  std::map<std::string, Tolerance, std::less<>> tolerances;    // of an output without one: bit-exact
  std::map<std::string, reference::Exact, std::less<>> exact;  // of outputs that are floating-point sums
};
// These outputs, within the tolerance that the operator's spec says.
Expectation expectation_of(const OperatorInfo& op, Tensors outputs);
// The results of the operator's reference, within the spec's tolerance; nullopt: it has none.
std::optional<Expectation> expectation_by_reference(const OperatorEntry& entry, const Request& request,
                                                    reference::Answers answers = reference::answer);
// The fault of an output; empty: none. Halves are widened where floats are expected.
Comparison compare(const HostTensor& got, const Expectation& expected, std::string_view output);

// The expected outputs of a complete request in given formats. Empty: nobody knows them, and these formats are left
// out.
using Judge = std::function<std::vector<Expectation>(const RequestFormats& formats, const Request& request)>;

struct VerifyOptions {
  bool all_kernels = false;         // else the best, as the request stands
  bool all_specializations = true;  // of all kernels; else the best of each variant
  bool all_step_kernels = true;     // of all kernels; else the best that each recipe has
  bool in_all_ways = true;          // of all kernels; else as the request stands
  std::string kernel;               // only this, wherever it applies
  KernelSample* sample = nullptr;   // of the options above; null: all of it
};

struct Finding {
  std::string kernel;  // empty: it is not one kernel's
  std::string way;
  std::string fault;
};
struct SkippedFormats {
  std::string way, reason;
};
struct Verdict {
  size_t runs = 0;
  size_t left_out = 0;            // by the sample: kernels, and ways of other shards
  std::set<std::string> kernels;  // variants and recipes that ran
  double largest_error = 0;
  std::vector<Finding> findings;
  std::vector<SkippedFormats> skipped;  // the device cannot hold a tensor so: an image would be too wide
};

// `request` as complete() takes it.
Verdict verify(Context& context, const OperatorEntry& entry, const Request& request, const Judge& judge,
               const VerifyOptions& options);
// One prepared call on every choice, or on the best; adds to `verdict`.
void verify(Context& context, const PreparedCall& prepared, std::span<const Expectation> expected,
            const VerifyOptions& options, const std::string& way, Verdict& verdict);

}  // namespace qgen::measure
