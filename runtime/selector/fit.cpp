// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks run from the cheapest to the most expensive and stop at the first that fails. A failed check is a cause and an
// index; its sentence is written only for refusals that are reported, since most kernels of a family fall at their
// operands' forms, and a selection happens at every new shape.
#include "runtime/selector/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "runtime/selector/refusal.h"

namespace qgen::selector {
namespace {

// ---- the checks -----------------------------------------------------------------------------------------------------

std::optional<Refusal> check_operands(const Request& request, const KernelInfo& kernel) {
  for (size_t i = 0; i < request.operands.size(); ++i) {
    const OperandDesc& desc = request.operands[i];
    if (!desc.is_present) {
      if (!request.op->operands[i].is_optional) return Refusal{Cause::absent_operand, i};
    } else if (!takes(request.op->form(kernel.parameters, i), desc)) {
      return Refusal{Cause::form, i};
    }
  }
  return std::nullopt;
}

// A matrix that the module never multiplies leaves a side open, and asks for the dtype of its own place only.
bool provides_dtypes(const CooperativeMatrixShape& has, const CooperativeMatrixShape& needs) {
  if (needs.k == 0) return has.c == needs.c || has.result == needs.result;
  if (needs.n == 0) return has.a == needs.a;
  if (needs.m == 0) return has.b == needs.b;
  return has.a == needs.a && has.b == needs.b && has.c == needs.c && has.result == needs.result;
}

// A flexible row holds granules: any multiple will do.
bool provides(const CooperativeMatrixShape& has, const CooperativeMatrixShape& needs, bool is_flexible) {
  const auto side_fits = [&](uint16_t have, uint16_t need) {
    return need == 0 || need == have || (is_flexible && have != 0 && need % have == 0);
  };
  return side_fits(has.m, needs.m) && side_fits(has.n, needs.n) && side_fits(has.k, needs.k) &&
         provides_dtypes(has, needs) && has.workgroup_scope == needs.workgroup_scope;
}

bool provides(const DeviceProfile& device, const CooperativeMatrixShape& needs) {
  const auto in = [&](const std::vector<CooperativeMatrixShape>& list, bool is_flexible) {
    return std::ranges::any_of(list, [&](const auto& has) { return provides(has, needs, is_flexible); });
  };
  return in(device.cooperative_matrices, false) || in(device.flexible_cooperative_matrices, true);
}

bool provides_subgroup_size(const DeviceProfile& device, uint32_t size) {
  if (size == 0 || size == device.numbers.subgroup_size) return true;
  return device.has_subgroup_size_control && device.min_subgroup_size <= size && size <= device.max_subgroup_size;
}

std::optional<Refusal> check_module(const DeviceProfile& device, const InterfaceInfo& interface) {
  if (interface.needs & ~device.features) return Refusal{Cause::features};
  if (!provides_subgroup_size(device, interface.required_subgroup_size)) return Refusal{Cause::subgroup_size};
  if (interface.push_constants_bytes > device.max_push_constants_bytes) return Refusal{Cause::push_constants};
  if (count_bindings(interface, BindingKind::storage_buffer) > device.max_storage_buffers_per_stage) {
    return Refusal{Cause::storage_buffers};
  }
  if (count_bindings(interface, BindingKind::storage_image) > device.max_storage_images_per_stage) {
    return Refusal{Cause::storage_images};
  }
  return std::nullopt;
}

std::optional<Refusal> check_limits(const DeviceProfile& device, const InterfaceInfo& interface, size_t row) {
  const auto matrices = matrices_of(interface, row);
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (!provides(device, matrices[i])) return Refusal{Cause::cooperative_matrix, i};
  }
  const auto& workgroup = interface.workgroup[row];
  for (size_t d = 0; d < 3; ++d) {
    if (workgroup[d] > device.max_workgroup_size[d]) return Refusal{Cause::workgroup_side, d};
  }
  if (invocations(workgroup) > device.numbers.max_workgroup_invocations) return Refusal{Cause::workgroup_invocations};
  if (interface.shared_bytes[row] > device.numbers.shared_memory_bytes) return Refusal{Cause::shared_memory};
  return std::nullopt;
}

bool can_dispatch(const std::array<uint64_t, 3>& groups, const std::array<uint32_t, 3>& limits) {
  if (is_row(groups)) return groups[0] <= longest_row(limits);
  return groups[0] <= limits[0] && groups[1] <= limits[1] && groups[2] <= limits[2];
}

// What depends on the specialization.
std::optional<Refusal> check_row(const Request& request, const KernelInfo& kernel, size_t row) {
  if (const auto refusal = check_limits(*request.device, interface_of(request, kernel), row)) return refusal;
  const OperatorInfo& op = *request.op;
  const SelectionScope scope = scope_of(request, kernel, row);
  if (!op.device_conditions.empty()) {
    const int failing = op.first_failing_device(scope);
    if (failing != kAllHold) return Refusal{Cause::device_condition, static_cast<size_t>(failing)};
  }
  if (!op.conditions.empty()) {
    const int failing = op.first_failing(scope);
    if (failing != kAllHold) return Refusal{Cause::condition, static_cast<size_t>(failing)};
  }
  if (!can_dispatch(groups_of(op, scope), request.device->max_workgroup_count)) return Refusal{Cause::grid};
  return std::nullopt;
}

// ---- one kernel -----------------------------------------------------------------------------------------------------

// Rows of a variant that do not fit, in order.
struct RefusedRow {
  size_t row;
  Refusal refusal;
};

// One sentence for all rows: theirs if they share it, else that of the first and how many more there are.
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
  const double cost = request.op->cost(scope).value;
  Candidate candidate{.kernel = &kernel,
                      .row = row,
                      .cost_us = std::isfinite(cost) ? cost : std::numeric_limits<double>::max(),
                      .groups = groups_of(*request.op, scope)};
  candidate.time_us = candidate.cost_us;
  if (!request.times) return candidate;
  if (const KnownTime* time = known(request, kernel_id(*request.op, kernel, row))) {
    candidate.time_us = time_of(*time, candidate.cost_us);
    candidate.source = time->source;
    candidate.said = &time->said;
  }
  return candidate;
}

// A variant none of whose rows fits is one rejection; rows of one that fits are told where each is a choice of its own.
void reject_rows(const Request& request, const Filter& filter, const KernelInfo& kernel,
                 const std::vector<RefusedRow>& refused, bool is_all, Fitting& fitting) {
  const auto reject = [&](std::string id, std::string reason, Cause cause) {
    fitting.rejections.push_back({std::move(id), std::move(reason), hurdle_of(cause)});
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

void fit_rows(const Request& request, const Filter& filter, const KernelInfo& kernel, Fitting& fitting) {
  std::vector<Candidate> fitting_rows;
  std::vector<RefusedRow> refused;
  const size_t first = filter.row.value_or(0);
  const size_t end = filter.row ? *filter.row + 1 : request.op->specialization_count();
  for (size_t row = first; row < end; ++row) {
    if (const auto refusal = check_row(request, kernel, row)) {
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

void fit_kernel(const Request& request, const Filter& filter, const KernelInfo& kernel, Fitting& fitting) {
  std::optional<Refusal> refusal = check_operands(request, kernel);
  if (!refusal) refusal = check_module(*request.device, interface_of(request, kernel));
  if (!refusal) return fit_rows(request, filter, kernel, fitting);
  if (!filter.reasons) return;
  fitting.rejections.push_back(
      {std::string(kernel.id), sentence(request, kernel, 0, *refusal), hurdle_of(refusal->cause)});
}

}  // namespace

const KnownTime* known(const Request& request, std::string_view id) {
  if (!request.times) return nullptr;
  const auto time = request.times->find(id);
  return time == request.times->end() ? nullptr : &time->second;
}

double time_of(const KnownTime& known, double cost_us) {
  return known.cost_us > 0 ? known.us * cost_us / known.cost_us : known.us;
}

bool admits(const Filter& filter, const KernelInfo& kernel) {
  if (filter.kernel && filter.kernel != &kernel) return false;
  return !filter.takes || filter.takes(kernel.parameters);
}

Fitting fit(const Request& request, const Filter& filter) {
  Fitting fitting;
  for (const KernelInfo& kernel : request.op->kernels) {
    if (admits(filter, kernel)) fit_kernel(request, filter, kernel, fitting);
  }
  std::ranges::sort(fitting.candidates, is_cheaper);
  return fitting;
}

}  // namespace qgen::selector
