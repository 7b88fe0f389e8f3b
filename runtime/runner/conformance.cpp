// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/runner/conformance.h"

#include "runtime/measure/verify.h"

namespace qgen::runner {
namespace {

// Rounded to halves, the inputs are others, and so is the result: it is judged by the reference on the same halves.
// Without a reference f16_rel says what the rounding may do; nullopt: nobody knows.
std::optional<measure::Expectation> expectation_of(const ConformanceCase& tested, const measure::Way& way,
                                                   const Request& request) {
  measure::Expectation expected{tested.expected, tested.tolerances};
  if (!way.is_half) return expected;
  if (auto by_reference = measure::expectation_by_reference(tested.op, request)) return by_reference;
  if (!tested.f16_rel) return std::nullopt;
  for (auto& [output, tolerance] : expected.tolerances) tolerance.rel = *tested.f16_rel;
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
  const measure::Verdict verdict = measure::verify(
      context, *entry, tested->request,
      [&](const measure::Way& way, const Request& request) { return expectation_of(*tested, way, request); },
      {.all_kernels = options.all_kernels, .kernel = options.kernel});
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
