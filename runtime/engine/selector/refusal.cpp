// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "runtime/engine/selector/missing_features.h"
#include "vocabulary/layouts.h"

namespace qgen::selector {

// ---- facts ----------------------------------------------------------------------------------------------------------

SelectionScope scope_of(const Request& request, const KernelInfo& kernel, size_t row) {
  return {request.problem, kernel.parameters, request.op->specialization(row), &request.device->numbers};
}

bool takes(const OperandForm& form, const OperandDesc& desc) {
  if ((form.layouts & desc.other_layouts) != 0) return form.dtype == desc.dtype && form.storage == desc.storage;
  return qgen::takes(form, desc.dtype, desc.storage, desc.layout);
}

std::string form_text(const OperandForm& form) {
  std::vector<std::string_view> layouts;
  for (const LayoutInfo& row : kLayouts) {
    const bool is_said = (form.layouts & bit(row.layout)) != 0;
    if (is_said && row.layout != Layout::strided) layouts.push_back(row.name);
  }
  return fmt::format("{} {}{}{}", name(form.dtype), name(form.storage), layouts.empty() ? "" : " ",
                     fmt::join(layouts, " or "));
}

size_t count_bindings(const InterfaceInfo& interface, BindingKind kind) {
  return static_cast<size_t>(std::ranges::count(interface.bindings, kind, &BindingInfo::kind));
}

size_t count_storage_buffers(const InterfaceInfo& interface, const DeviceProfile& device) {
  const bool has_uniform_blocks = device.missing(bit(Feature::uniform_buffer_standard_layout)) == 0;
  return count_bindings(interface, BindingKind::storage_buffer) +
         (has_uniform_blocks ? 0 : count_bindings(interface, BindingKind::uniform_buffer));
}

int64_t invocations(const uint32_t (&workgroup)[3]) {
  return (Integer(workgroup[0]) * Integer(workgroup[1]) * Integer(workgroup[2])).value;
}

std::array<uint64_t, 3> groups_of(const OperatorInfo& op, const SelectionScope& scope) {
  Integer groups[3] = {1, 1, 1};
  op.grid(scope, groups);
  const auto count = [](Integer n) { return static_cast<uint64_t>(std::max<int64_t>(n.value, 0)); };
  return {count(groups[0]), count(groups[1]), count(groups[2])};
}

bool is_row(const std::array<uint64_t, 3>& groups) { return groups[1] == 1 && groups[2] == 1; }

uint64_t longest_row(const std::array<uint32_t, 3>& limits) {
  const Integer all = Integer(limits[0]) * Integer(limits[1]) * Integer(limits[2]);
  return std::min<uint64_t>(static_cast<uint64_t>(all.value), std::numeric_limits<uint32_t>::max());
}

std::string missing_text(FeatureMask missing, const DeviceProfile& device) {
  const auto listed = [](FeatureMask mask) { return fmt::format("{}", fmt::join(names(mask), " and ")); };
  if (const FeatureMask wrong = missing & device.distrusted) {
    return fmt::format("needs {}, which this driver is known to compute wrongly", listed(wrong));
  }
  return fmt::format("needs {}, which the device lacks", listed(missing));
}

// ---- sentences ------------------------------------------------------------------------------------------------------

RefusedBy check_of(Cause cause) {
  switch (cause) {
    case Cause::form:
    case Cause::absent_operand: return RefusedBy::operands;
    case Cause::condition:
    case Cause::grid: return RefusedBy::problem;
    case Cause::features:
    case Cause::cooperative_matrix:
    case Cause::subgroup_size:
    case Cause::push_constants:
    case Cause::storage_buffers:
    case Cause::storage_images:
    case Cause::workgroup_side:
    case Cause::workgroup_invocations:
    case Cause::shared_memory:
    case Cause::distrusted:
    case Cause::device_condition: return RefusedBy::device;
    case Cause::rarely_best: return RefusedBy::rarely_best;
  }
  return RefusedBy::request;
}

namespace {

std::string matrix_text(const CooperativeMatrixShape& shape) {
  const std::string_view scope = shape.workgroup_scope ? "workgroup" : "subgroup";
  const auto one = [&](uint16_t rows, uint16_t columns, DType dtype, std::string_view place) {
    return fmt::format("{} x {} of {} {} per {}", rows, columns, name(dtype), place, scope);
  };
  if (shape.k == 0) return one(shape.m, shape.n, shape.result, "as sums");
  if (shape.n == 0) return one(shape.m, shape.k, shape.a, "as first factors");
  if (shape.m == 0) return one(shape.k, shape.n, shape.b, "as second factors");
  return fmt::format("{} x {} x {} of {} and {} to {} per {}", shape.m, shape.n, shape.k, name(shape.a), name(shape.b),
                     name(shape.result), scope);
}

std::string subgroup_text(const DeviceProfile& device) {
  if (!device.has_subgroup_size_control || device.min_subgroup_size == device.max_subgroup_size) {
    return fmt::format("{}", device.numbers.subgroup_size);
  }
  return fmt::format("{} to {}", device.min_subgroup_size, device.max_subgroup_size);
}

}  // namespace

std::string sentence(const RarelyBestInfo& info, const DeviceProfile& device) {
  if (is_about_architecture(info, device)) {
    return fmt::format("was rarely the best on {}: {}", device.architecture, info.because);
  }
  return fmt::format("is rarely the best on devices with {}: {}", fmt::join(info.on, " and "), info.because);
}

std::string sentence(const Request& request, const KernelInfo& kernel, size_t row, const Refusal& refusal) {
  const OperatorInfo& op = *request.op;
  const DeviceProfile& device = *request.device;
  const InterfaceInfo& interface = request.op->interface_of(kernel);
  switch (refusal.cause) {
    case Cause::form:
      return fmt::format("takes {} as {}, given {}", op.operands[refusal.index].name,
                         form_text(op.form(kernel.parameters, refusal.index)),
                         to_text(request.operands[refusal.index]));
    case Cause::absent_operand: return fmt::format("needs {}, which is left out", op.operands[refusal.index].name);
    case Cause::features: return missing_text(device.missing(interface.needs), device);
    case Cause::cooperative_matrix:
      return fmt::format("needs cooperative matrices {}, which the device lacks",
                         matrix_text(interface.cooperative_matrices_of(row)[refusal.index]));
    case Cause::subgroup_size:
      return fmt::format("needs subgroups of {}, and the device has {}", interface.required_subgroup_size,
                         subgroup_text(device));
    case Cause::push_constants:
      return fmt::format("needs {} bytes of push constants, and the device has {}", interface.push_constants_bytes,
                         device.max_push_constants_bytes);
    case Cause::storage_buffers:
      return fmt::format("binds {} storage buffers, and the device allows {}", count_storage_buffers(interface, device),
                         device.max_storage_buffers_per_stage);
    case Cause::storage_images:
      return fmt::format("binds {} storage images, and the device allows {}",
                         count_bindings(interface, BindingKind::storage_image), device.max_storage_images_per_stage);
    case Cause::workgroup_side:
      return fmt::format("needs workgroups {} wide in {}, and the device allows {}",
                         interface.workgroup_of(row)[refusal.index], "xyz"[refusal.index],
                         device.max_workgroup_size[refusal.index]);
    case Cause::workgroup_invocations:
      return fmt::format("needs workgroups of {} invocations, and the device allows {}",
                         invocations(interface.workgroup_of(row)), device.numbers.max_workgroup_invocations);
    case Cause::shared_memory:
      return fmt::format("needs {} bytes of shared memory, and the device has {}", interface.shared_bytes_of(row),
                         device.numbers.shared_memory_bytes);
    case Cause::device_condition:
      return failed_condition("require_device", op.device_conditions[refusal.index], op,
                              scope_of(request, kernel, row));
    case Cause::distrusted:
      return fmt::format("is one of '{}', which this driver is known to compute wrongly",
                         device.distrusted_kernels[refusal.index]);
    case Cause::rarely_best: return sentence(op.rarely_best[refusal.index], device);
    case Cause::condition:
      return failed_condition("applies_when", op.conditions[refusal.index], op, scope_of(request, kernel, row));
    case Cause::grid: {
      const auto groups = groups_of(op, scope_of(request, kernel, row));
      if (is_row(groups)) {
        return fmt::format("needs {} workgroups, and the device can number {}", groups[0],
                           longest_row(device.max_workgroup_count));
      }
      return fmt::format("needs {} workgroups, and the device allows {}", fmt::join(groups, " x "),
                         fmt::join(device.max_workgroup_count, " x "));
    }
  }
  return "";
}

}  // namespace qgen::selector
