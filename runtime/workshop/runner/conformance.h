// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs conformance cases (case_file.h).
//
//   for (const auto& file : *find_cases("tests/conformance")) {
//     const CaseResult result = run_case(context, operators, file, {.all_kernels = true});
//   }
//
// A case runs on the best kernel with its own formats, or on every kernel that fits in all formats (request_formats.h).
// A result must be within the case's tolerance of its expected value. If there is a reference, the result must also be
// within the spec's tolerance of the reference's. In f16, only the reference on the same f16 inputs counts, or
// `f16_rel` of the case if there is no reference.
#pragma once

#include "runtime/workshop/measure/kernel_sample.h"
#include "runtime/workshop/reference/references.h"
#include "runtime/workshop/runner/case_file.h"

namespace qgen::runner {

struct CaseOptions {
  bool all_kernels = false;
  std::string kernel;                       // only this, where it applies; with or without its specialization
  reference::Answers answers = nullptr;     // the references; null: there are none
  measure::KernelSample* sample = nullptr;  // of all kernels; null: all
};
struct CaseResult {
  std::string name, folder;
  enum class Kind : uint8_t { passed, failed, unknown_operator } kind = Kind::failed;
  size_t kernels = 0;          // variants and recipes that ran
  size_t runs = 0;             // each with its specialization, in each way
  size_t skipped_ways = 0;     // that the device cannot hold
  std::string skipped_reason;  // of the first of them, with the way
  double largest_error = 0;
  std::string fault;  // why it failed: the first of. Of an unknown operator: its name, with a hint
  size_t faults = 0;
  std::string failed_kernel;  // its id
};
CaseResult run_case(Context& context, OperatorEntries operators, const std::filesystem::path& file,
                    const CaseOptions& options);

}  // namespace qgen::runner
