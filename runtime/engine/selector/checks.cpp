// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/checks.h"

#include <algorithm>
#include <bit>

namespace qgen::selector {
namespace {

// A matrix that the module never multiplies leaves a side open, and requires only the dtype of its own role.
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

std::optional<Refusal> check_limits(const DeviceProfile& device, const InterfaceInfo& interface, size_t row) {
  const auto matrices = interface.cooperative_matrices_of(row);
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (!provides(device, matrices[i])) return Refusal{Cause::cooperative_matrix, i};
  }
  const auto& workgroup = interface.workgroup_of(row);
  for (size_t d = 0; d < 3; ++d) {
    if (workgroup[d] > device.max_workgroup_size[d]) return Refusal{Cause::workgroup_side, d};
  }
  if (invocations(workgroup) > device.numbers.max_workgroup_invocations) return Refusal{Cause::workgroup_invocations};
  if (interface.shared_bytes_of(row) > device.numbers.shared_memory_bytes) return Refusal{Cause::shared_memory};
  return std::nullopt;
}

// Whether an id is this beginning, or goes on after it with '.' or '/'.
bool has_beginning(std::string_view id, std::string_view beginning) {
  return id.starts_with(beginning) &&
         (id.size() == beginning.size() || id[beginning.size()] == '.' || id[beginning.size()] == '/');
}

bool can_dispatch(const std::array<uint64_t, 3>& groups, const std::array<uint32_t, 3>& limits) {
  if (is_row(groups)) return groups[0] <= longest_row(limits);
  return groups[0] <= limits[0] && groups[1] <= limits[1] && groups[2] <= limits[2];
}

// Of features, all count; an item that lists none is about architectures only.
bool has_listed_features(const RarelyBestInfo& info, const DeviceProfile& device) {
  FeatureMask features = 0;
  for (const FeatureRow& row : feature_table()) {
    if (std::ranges::find(info.on, row.name) != info.on.end()) features |= bit(row.feature);
  }
  return features != 0 && (device.features & features) == features;
}

}  // namespace

std::optional<Refusal> check_operand(const Request& request, size_t operand, const OperandForm& form) {
  const OperandDesc& desc = request.operands[operand];
  if (desc.is_present) return takes(form, desc) ? std::nullopt : std::optional(Refusal{Cause::form, operand});
  if (request.op->operands[operand].is_optional) return std::nullopt;
  return Refusal{Cause::absent_operand, operand};
}

std::optional<Refusal> check_module(const DeviceProfile& device, const InterfaceInfo& interface) {
  if (device.missing(interface.needs)) return Refusal{Cause::features};
  if (!provides_subgroup_size(device, interface.required_subgroup_size)) return Refusal{Cause::subgroup_size};
  if (interface.push_constants_bytes > device.max_push_constants_bytes) return Refusal{Cause::push_constants};
  if (count_storage_buffers(interface, device) > device.max_storage_buffers_per_stage) {
    return Refusal{Cause::storage_buffers};
  }
  if (count_bindings(interface, BindingKind::storage_image) > device.max_storage_images_per_stage) {
    return Refusal{Cause::storage_images};
  }
  return std::nullopt;
}

std::optional<Refusal> check_device(const Request& request, const KernelInfo& kernel, size_t row) {
  const auto& distrusted = request.device->distrusted_kernels;
  for (size_t i = 0; i < distrusted.size(); ++i) {
    if (has_beginning(kernel_id(*request.op, kernel, row), distrusted[i])) return Refusal{Cause::distrusted, i};
  }
  if (const auto refusal = check_limits(*request.device, request.op->interface_of(kernel), row)) return refusal;
  if (request.op->device_conditions.empty()) return std::nullopt;
  const int failing = request.op->first_failing_device(scope_of(request, kernel, row));
  if (failing == kAllHold) return std::nullopt;
  return Refusal{Cause::device_condition, static_cast<size_t>(failing)};
}

bool is_about_architecture(const RarelyBestInfo& info, const DeviceProfile& device) {
  return std::ranges::find(info.on, device.architecture) != info.on.end();
}

uint64_t rarely_best_on(const OperatorInfo& op, const DeviceProfile& device) {
  uint64_t listed = 0;
  for (size_t i = 0; i < op.rarely_best.size(); ++i) {
    const RarelyBestInfo& info = op.rarely_best[i];
    if (is_about_architecture(info, device) || has_listed_features(info, device)) listed |= uint64_t{1} << i;
  }
  return listed;
}

std::optional<Refusal> check_rarely_best(const Request& request, const KernelInfo& kernel, size_t row,
                                         uint64_t listed) {
  if (listed == 0) return std::nullopt;
  const uint64_t holding = request.op->rarely_best_when(scope_of(request, kernel, row)) & listed;
  if (holding == 0) return std::nullopt;
  return Refusal{Cause::rarely_best, static_cast<size_t>(std::countr_zero(holding))};
}

std::optional<Refusal> check_problem(const Request& request, const KernelInfo& kernel, size_t row) {
  const OperatorInfo& op = *request.op;
  const SelectionScope scope = scope_of(request, kernel, row);
  if (!op.conditions.empty()) {
    const int failing = op.first_failing(scope);
    if (failing != kAllHold) return Refusal{Cause::condition, static_cast<size_t>(failing)};
  }
  if (!can_dispatch(groups_of(op, scope), request.device->max_workgroup_count)) return Refusal{Cause::grid};
  return std::nullopt;
}

}  // namespace qgen::selector
