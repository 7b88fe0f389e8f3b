// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A failed check is a cause and an index. Its sentence is written only for reported refusals, since most kernels of a
// family are refused for their operands' formats.
#include "runtime/engine/selector/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runtime/engine/selector/checks.h"

namespace qgen::selector {
namespace {

// ---- one kernel -----------------------------------------------------------------------------------------------------

// Rows of a variant that do not fit, in order.
struct RefusedRow {
  size_t row;
  Refusal refusal;
};

// One sentence for all rows: their common one, or else the first and how many more there are.
std::string sentence_of_rows(const Request& request, const KernelInfo& kernel, const std::vector<RefusedRow>& rows) {
  const RefusedRow& first = rows.front();
  const std::string text = sentence(request, kernel, first.row, first.refusal);
  const auto says_the_same = [&](const RefusedRow& other) {
    return other.refusal == first.refusal && sentence(request, kernel, other.row, other.refusal) == text;
  };
  if (rows.size() == 1 || (says_the_same(rows.back()) && says_the_same(rows[rows.size() / 2]))) return text;
  return fmt::format("{} (with {}; no other of the {} specializations fits)", text,
                     specialization_id(*request.op, first.row), rows.size());
}

bool is_cheaper(const Candidate& a, const Candidate& b) {
  return std::tuple(rank_of(a), a.kernel->id, a.row) < std::tuple(rank_of(b), b.kernel->id, b.row);
}

Candidate candidate_of(const Request& request, const KernelInfo& kernel, size_t row) {
  const SelectionScope scope = scope_of(request, kernel, row);
  Candidate candidate{
      .kernel = &kernel, .row = row, .cost_us = cost_of(*request.op, scope), .groups = groups_of(*request.op, scope)};
  candidate.time_us = candidate.cost_us;
  if (!request.times) return candidate;
  if (const KnownTime* time = known(request, kernel_id(*request.op, kernel, row))) {
    candidate.time_us = time_of(*time, candidate.cost_us);
    candidate.source = time->source;
    candidate.is_final = time->is_final;
  }
  return candidate;
}

// A variant of which no row fits is one rejection. If some rows fit, each refused row that would be a separate choice
// is reported.
void reject_rows(const Request& request, const Filter& filter, const KernelInfo& kernel,
                 const std::vector<RefusedRow>& refused, bool is_all, Fitting& fitting) {
  const auto reject = [&](std::string id, std::string reason, Cause cause) {
    fitting.rejections.push_back({std::move(id), std::move(reason), check_of(cause)});
  };
  if (is_all) {
    reject(filter.row ? kernel_id(*request.op, kernel, *filter.row) : std::string(kernel.id),
           sentence_of_rows(request, kernel, refused), refused.front().refusal.cause);
  } else if (filter.all_rows) {
    for (const RefusedRow& r : refused) {
      reject(kernel_id(*request.op, kernel, r.row), sentence(request, kernel, r.row, r.refusal), r.refusal.cause);
    }
  }
}

// Where a kernel falls, of those checks that differ between the rows of a variant. `listed`: check_rarely_best().
std::optional<Refusal> check_row(const Request& request, const KernelInfo& kernel, size_t row, uint64_t listed) {
  if (const auto refusal = check_device(request, kernel, row)) return refusal;
  const auto rarely_best = check_rarely_best(request, kernel, row, listed);
  const bool is_timed = rarely_best && request.times && known(request, kernel_id(*request.op, kernel, row));
  if (rarely_best && !is_timed) return rarely_best;
  return check_problem(request, kernel, row);
}

void fit_rows(const Request& request, const Filter& filter, const KernelInfo& kernel, uint64_t listed,
              Fitting& fitting) {
  std::vector<Candidate> fitting_rows;
  std::vector<RefusedRow> refused;
  const size_t first = filter.row.value_or(0);
  const size_t end = filter.row ? *filter.row + 1 : request.op->specialization_count();
  for (size_t row = first; row < end; ++row) {
    const auto refusal = check_row(request, kernel, row, filter.row ? 0 : listed);
    if (refusal) {
      refused.push_back({row, *refusal});
    } else {
      fitting_rows.push_back(candidate_of(request, kernel, row));
    }
  }
  if (filter.all_rows) {
    fitting.candidates.insert(fitting.candidates.end(), fitting_rows.begin(), fitting_rows.end());
  } else if (!fitting_rows.empty()) {
    fitting.candidates.push_back(*std::ranges::min_element(fitting_rows, is_cheaper));
  }
  if (filter.reasons) reject_rows(request, filter, kernel, refused, fitting_rows.empty(), fitting);
}

void fit_kernel(const Request& request, const Filter& filter, const KernelInfo& kernel, uint64_t listed,
                Fitting& fitting) {
  std::optional<Refusal> refusal;
  for (size_t i = 0; i < request.operands.size() && !refusal; ++i) {
    refusal = check_operand(request, i, request.op->form(kernel.parameters, i));
  }
  if (!refusal) refusal = check_module(*request.device, request.op->interface_of(kernel));
  if (!refusal) return fit_rows(request, filter, kernel, listed, fitting);
  if (!filter.reasons) return;
  fitting.rejections.push_back(
      {std::string(kernel.id), sentence(request, kernel, 0, *refusal), check_of(refusal->cause)});
}

}  // namespace

const KnownTime* known(const Request& request, std::string_view id) {
  if (!request.times) return nullptr;
  return request.times->find(id);
}

double time_of(const KnownTime& known, double cost_us) {
  return known.cost_us > 0 ? known.us * cost_us / known.cost_us : known.us;
}

Choice choice_of(const Problem& problem, const Request& request, const Candidate& candidate) {
  std::vector<OperandSource> sources;
  for (size_t i = 0; i < problem.operands.size(); ++i) {
    sources.push_back({false, problem.operands[i].is_present ? static_cast<uint8_t>(i) : kAbsent});
  }
  Choice choice{.id = kernel_id(*request.op, *candidate.kernel, candidate.row),
                .cost_us = candidate.cost_us,
                .time_us = candidate.time_us,
                .source = candidate.source,
                .is_final = candidate.is_final};
  if (const KnownTime* time = known(request, choice.id)) choice.source_text = request.times->source_text(*time);
  choice.launches.push_back(launch_of(*request.op, candidate, problem.fields, std::move(sources)));
  return choice;
}

std::string fault_of(const Problem& problem) {
  if (problem.operands.size() != problem.op->operands.size()) {
    return fmt::format("takes {} operands, given {}", problem.op->operands.size(), problem.operands.size());
  }
  if (problem.fields.size() != problem.op->problem_bytes) {
    return fmt::format("takes a problem of {} bytes, given {}", problem.op->problem_bytes, problem.fields.size());
  }
  return "";
}

bool admits(const Filter& filter, const KernelInfo& kernel) {
  if (filter.kernel && filter.kernel != &kernel) return false;
  return !filter.takes || filter.takes(kernel.parameters);
}

Fitting fit(const Request& request, const Filter& filter) {
  Fitting fitting;
  const uint64_t listed = filter.with_rarely_best ? 0 : rarely_best_on(*request.op, *request.device);
  for (const KernelInfo& kernel : request.op->kernels) {
    if (admits(filter, kernel)) fit_kernel(request, filter, kernel, listed, fitting);
  }
  std::ranges::sort(fitting.candidates, is_cheaper);
  return fitting;
}

}  // namespace qgen::selector
