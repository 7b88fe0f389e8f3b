// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Conformance cases (case_file.h), run.
//
//   for (const auto& file : *find_cases("tests/conformance")) {
//     const CaseResult result = run_case(context, operators, file, {.all_kernels = true});
//   }
//
// A case runs on the best kernel as it stands; or on every kernel that applies, in every way (ways.h). A result must be
// what the case expects, within its tolerance, and what the scalar reference gives, if there is one, within the spec's.
// What is run on halves is judged by the reference on the same halves, and where there is none by the case's `f16_rel`.
#pragma once

#include "runtime/reference/references.h"
#include "runtime/runner/case_file.h"

namespace qgen::runner {

struct CaseOptions {
  bool all_kernels = false;
  std::string kernel;                    // only this, where it applies; with or without its specialization
  reference::Answers answers = nullptr;  // the references; null: there are none
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
