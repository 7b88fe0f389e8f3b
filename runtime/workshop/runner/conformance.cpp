// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/conformance.h"

#include "runtime/workshop/measure/verify.h"

namespace qgen::runner {
namespace {

// The values of the case, within its tolerance, and the reference's values, within the spec's. Inputs rounded to f16
// give another result: then only the reference counts. If there is none, f16_rel bounds the effect of rounding. An
// empty list means that nothing can be expected.
std::vector<measure::Expectation> expectations_of(const ConformanceCase& tested, const OperatorEntry& entry,
                                                  const measure::RequestFormats& way, const Request& request,
                                                  reference::Answers answers) {
  std::vector<measure::Expectation> expected;
  auto by_reference = measure::expectation_by_reference(entry, request, answers);
  if (!way.is_half) expected.push_back({tested.expected, tested.tolerances, {}});
  if (by_reference) expected.push_back(*std::move(by_reference));
  if (!expected.empty() || !tested.f16_rel) return expected;
  expected.push_back({tested.expected, tested.tolerances, {}});
  for (auto& [output, tolerance] : expected.front().tolerances) tolerance.rel = *tested.f16_rel;
  return expected;
}

}  // namespace

CaseResult run_case(Context& context, OperatorEntries operators, const std::filesystem::path& file,
                    const CaseOptions& options) {
  auto tested = load_case(operators, file);
  const std::string folder = file.parent_path().string();
  if (!tested) return {.name = case_name(file), .folder = folder, .fault = to_text(tested.error()), .faults = 1};
  const OperatorEntry* entry = find_operator(operators, tested->op);
  if (!entry) {
    return {.name = tested->name,
            .folder = folder,
            .kind = CaseResult::Kind::unknown_operator,
            .fault = to_text(unknown_operator(operators, tested->op))};
  }
  tested->op = entry->name;  // the case may call it by another
  const measure::Verdict verdict =
      measure::verify(context, *entry, tested->request,
                      [&](const measure::RequestFormats& way, const Request& request) {
                        return expectations_of(*tested, *entry, way, request, options.answers);
                      },
                      {.all_kernels = options.all_kernels, .kernel = options.kernel, .sample = options.sample});
  CaseResult result{.name = tested->name,
                    .folder = folder,
                    .kind = verdict.findings.empty() ? CaseResult::Kind::passed : CaseResult::Kind::failed,
                    .kernels = verdict.kernels.size(),
                    .runs = verdict.runs,
                    .skipped_ways = verdict.skipped.size(),
                    .largest_error = verdict.largest_error,
                    .faults = verdict.findings.size()};
  if (!verdict.skipped.empty()) {
    result.skipped_reason = verdict.skipped.front().way + ": " + verdict.skipped.front().reason;
  }
  if (verdict.findings.empty()) return result;
  const measure::Finding& first = verdict.findings.front();
  result.failed_kernel = first.kernel;
  result.fault = first.way.empty() ? first.fault : first.way + ": " + first.fault;
  return result;
}

}  // namespace qgen::runner
