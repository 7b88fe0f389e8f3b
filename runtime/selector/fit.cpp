// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks run from the cheapest to the dearest and stop at the first that fails. A failed check is a cause and an index;
// its sentence is written only for refusals that are reported, since most kernels of a family fall at their operands'
// forms, and a selection happens at every new shape.
#include "runtime/selector/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

#include "runtime/library/layout_table.h"

namespace qgen::selector {
namespace {

enum class Cause : uint8_t {
  form,                // index: operand
  absent_operand,      // index: operand
  features,
  subgroup_size,
  push_constants,
  storage_buffers,
  storage_images,
  cooperative_matrix,  // index: of the row's shapes
  workgroup_side,      // index: dimension
  workgroup_invocations,
  shared_memory,
  device_condition,    // index: condition
  condition,           // index: condition
  grid,
};

struct Refusal {
  Cause cause;
  size_t index = 0;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

Hurdle hurdle_of(Cause cause) {
  switch (cause) {
    case Cause::form: case Cause::absent_operand: return Hurdle::operands;
    case Cause::condition: case Cause::grid: return Hurdle::problem;
    case Cause::features: case Cause::cooperative_matrix: case Cause::subgroup_size: case Cause::push_constants:
    case Cause::storage_buffers: case Cause::storage_images: case Cause::workgroup_side:
    case Cause::workgroup_invocations: case Cause::shared_memory: case Cause::device_condition: return Hurdle::device;
  }
  return Hurdle::request;
}

// ---- the checks --------------------------------------------------------------------------------------------------------

const InterfaceInfo& interface_of(const Request& request, const KernelInfo& kernel) {
  return request.op->interfaces[kernel.interface];
}

SelectionScope scope_of(const Request& request, const KernelInfo& kernel, size_t row) {
  return {request.problem, kernel.parameters, request.op->specialization(row), &request.device->numbers};
}

bool takes(const OperandForm& form, const OperandDesc& desc) {
  if ((form.layouts & desc.other_layouts) != 0) return form.dtype == desc.dtype && form.storage == desc.storage;
  return qgen::takes(form, desc.dtype, desc.storage, desc.layout);
}

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

// A side of 0 is one that the module leaves open. A flexible row holds granules: any multiple will do.
bool provides(const CooperativeMatrixShape& has, const CooperativeMatrixShape& needs, bool is_flexible) {
  const auto side_fits = [&](uint16_t have, uint16_t need) {
    return need == 0 || need == have || (is_flexible && have != 0 && need % have == 0);
  };
  return side_fits(has.m, needs.m) && side_fits(has.n, needs.n) && side_fits(has.k, needs.k) && has.a == needs.a &&
         has.b == needs.b && has.c == needs.c && has.result == needs.result &&
         has.workgroup_scope == needs.workgroup_scope;
}

bool provides(const DeviceProfile& device, const CooperativeMatrixShape& needs) {
  const auto in = [&](const std::vector<CooperativeMatrixShape>& list, bool is_flexible) {
    return std::ranges::any_of(list, [&](const auto& has) { return provides(has, needs, is_flexible); });
  };
  return in(device.cooperative_matrices, false) || in(device.flexible_cooperative_matrices, true);
}

std::span<const CooperativeMatrixShape> matrices_of(const InterfaceInfo& interface, size_t row) {
  if (interface.cooperative_matrices.empty()) return {};
  return interface.cooperative_matrices[row];
}

bool provides_subgroup_size(const DeviceProfile& device, uint32_t size) {
  if (size == 0 || size == device.numbers.subgroup_size) return true;
  return device.has_subgroup_size_control && device.min_subgroup_size <= size && size <= device.max_subgroup_size;
}

size_t count_bindings(const InterfaceInfo& interface, BindingKind kind) {
  return static_cast<size_t>(std::ranges::count(interface.bindings, kind, &BindingInfo::kind));
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

int64_t invocations(const uint32_t (&workgroup)[3]) {
  return (Integer(workgroup[0]) * Integer(workgroup[1]) * Integer(workgroup[2])).value;
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

std::array<uint64_t, 3> groups_of(const OperatorInfo& op, const SelectionScope& scope) {
  Integer groups[3] = {1, 1, 1};
  op.grid(scope, groups);
  const auto count = [](Integer n) { return static_cast<uint64_t>(std::max<int64_t>(n.value, 0)); };
  return {count(groups[0]), count(groups[1]), count(groups[2])};
}

bool is_row(const std::array<uint64_t, 3>& groups) { return groups[1] == 1 && groups[2] == 1; }

// The longest grid of one dimension: the dispatcher folds it into three, and kernels number their groups with 32 bits.
uint64_t longest_row(const std::array<uint32_t, 3>& limits) {
  const Integer all = Integer(limits[0]) * Integer(limits[1]) * Integer(limits[2]);
  return std::min<uint64_t>(static_cast<uint64_t>(all.value), std::numeric_limits<uint32_t>::max());
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

// ---- the sentences -----------------------------------------------------------------------------------------------------

std::string form_text(const OperandForm& form) {
  std::vector<std::string_view> layouts;
  for (const LayoutInfo& row : kLayouts) {
    const bool is_said = (form.layouts >> static_cast<unsigned>(row.layout) & 1) != 0;
    if (is_said && row.layout != Layout::strided) layouts.push_back(row.name);
  }
  return fmt::format("{} {}{}{}", name(form.dtype), name(form.storage), layouts.empty() ? "" : " ",
                     fmt::join(layouts, " or "));
}

std::string matrix_text(const CooperativeMatrixShape& shape) {
  const auto side = [](uint16_t n) { return n == 0 ? std::string("any") : std::to_string(n); };
  return fmt::format("{} x {} x {} of {} and {} to {} per {}", side(shape.m), side(shape.n), side(shape.k), name(shape.a),
                     name(shape.b), name(shape.result), shape.workgroup_scope ? "workgroup" : "subgroup");
}

std::string subgroup_text(const DeviceProfile& device) {
  if (!device.has_subgroup_size_control || device.min_subgroup_size == device.max_subgroup_size) {
    return fmt::format("{}", device.numbers.subgroup_size);
  }
  return fmt::format("{} to {}", device.min_subgroup_size, device.max_subgroup_size);
}

std::string sentence(const Request& request, const KernelInfo& kernel, size_t row, const Refusal& refusal) {
  const OperatorInfo& op = *request.op;
  const DeviceProfile& device = *request.device;
  const InterfaceInfo& interface = interface_of(request, kernel);
  switch (refusal.cause) {
    case Cause::form:
      return fmt::format("takes {} as {}, given {}", op.operands[refusal.index].name,
                         form_text(op.form(kernel.parameters, refusal.index)), to_text(request.operands[refusal.index]));
    case Cause::absent_operand: return fmt::format("needs {}, which is left out", op.operands[refusal.index].name);
    case Cause::features:
      return fmt::format("needs {}, which the device lacks",
                         fmt::join(names(interface.needs & ~device.features), " and "));
    case Cause::cooperative_matrix:
      return fmt::format("needs cooperative matrices {}, which the device lacks",
                         matrix_text(matrices_of(interface, row)[refusal.index]));
    case Cause::subgroup_size:
      return fmt::format("needs subgroups of {}, and the device has {}", interface.required_subgroup_size,
                         subgroup_text(device));
    case Cause::push_constants:
      return fmt::format("needs {} bytes of push constants, and the device has {}", interface.push_constants_bytes,
                         device.max_push_constants_bytes);
    case Cause::storage_buffers:
      return fmt::format("binds {} storage buffers, and the device allows {}",
                         count_bindings(interface, BindingKind::storage_buffer), device.max_storage_buffers_per_stage);
    case Cause::storage_images:
      return fmt::format("binds {} storage images, and the device allows {}",
                         count_bindings(interface, BindingKind::storage_image), device.max_storage_images_per_stage);
    case Cause::workgroup_side:
      return fmt::format("needs workgroups {} wide in {}, and the device allows {}", interface.workgroup[row][refusal.index],
                         "xyz"[refusal.index], device.max_workgroup_size[refusal.index]);
    case Cause::workgroup_invocations:
      return fmt::format("needs workgroups of {} invocations, and the device allows {}",
                         invocations(interface.workgroup[row]), device.numbers.max_workgroup_invocations);
    case Cause::shared_memory:
      return fmt::format("needs {} bytes of shared memory, and the device has {}", interface.shared_bytes[row],
                         device.numbers.shared_memory_bytes);
    case Cause::device_condition:
      return failed_condition("require_device", op.device_conditions[refusal.index], op, scope_of(request, kernel, row));
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

// ---- one kernel --------------------------------------------------------------------------------------------------------

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
  return std::tie(a.cost_us, a.kernel->id, a.row) < std::tie(b.cost_us, b.kernel->id, b.row);
}

Candidate candidate_of(const Request& request, const KernelInfo& kernel, size_t row) {
  const SelectionScope scope = scope_of(request, kernel, row);
  const double cost = request.op->cost(scope).value;
  return {&kernel, row, std::isfinite(cost) ? cost : std::numeric_limits<double>::max(), groups_of(*request.op, scope)};
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

bool admits(const Filter& filter, const KernelInfo& kernel) {
  if (filter.kernel && filter.kernel != &kernel) return false;
  return !filter.takes || filter.takes(kernel.parameters);
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

Fitting fit(const Request& request, const Filter& filter) {
  Fitting fitting;
  for (const KernelInfo& kernel : request.op->kernels) {
    if (admits(filter, kernel)) fit_kernel(request, filter, kernel, fitting);
  }
  std::ranges::sort(fitting.candidates, is_cheaper);
  return fitting;
}

// ---- ids and texts -----------------------------------------------------------------------------------------------------

namespace {

// "tile.m": the field m of a record, whose fields follow each other in ids: "m64n32".
struct ConstantName {
  explicit ConstantName(std::string_view name) : own(name) {
    const size_t dot = name.find('.');
    if (dot == name.npos) return;
    record = name.substr(0, dot);
    own = name.substr(dot + 1);
  }
  std::string_view record;  // empty: a constant of its own
  std::string_view own;
};

}  // namespace

std::string specialization_id(const OperatorInfo& op, size_t row) {
  std::string text;
  const uint32_t* values = op.specialization(row);
  for (size_t i = 0; i < op.specialization_names.size(); ++i) {
    const ConstantName name(op.specialization_names[i]);
    const bool goes_on = i != 0 && !name.record.empty() && ConstantName(op.specialization_names[i - 1]).record == name.record;
    fmt::format_to(std::back_inserter(text), "{}{}{}", i == 0 || goes_on ? "" : ".", name.own, values[i]);
  }
  return text;
}

std::string kernel_id(const OperatorInfo& op, const KernelInfo& kernel, size_t row) {
  if (op.specialization_names.empty()) return std::string(kernel.id);
  return fmt::format("{}/{}", kernel.id, specialization_id(op, row));
}

std::string to_text(const OperandDesc& desc) {
  if (desc.layout == Layout::strided) return fmt::format("{} {}", name(desc.dtype), name(desc.storage));
  return fmt::format("{} {} {}", name(desc.dtype), name(desc.storage), name(desc.layout));
}

namespace {

std::string value_text(const OperatorInfo& op, size_t name_index, const SelectionScope& scope) {
  const int64_t value = op.value(name_index, scope).value;
  const auto words = op.names[name_index].words;
  const bool is_word = value >= 0 && static_cast<size_t>(value) < words.size();
  return is_word ? std::string(words[static_cast<size_t>(value)]) : std::to_string(value);
}

// The two sides of `a % b == 0` where both are single words; nullopt of any other condition.
struct Multiple {
  std::string_view of, by;
};
std::optional<Multiple> as_multiple(std::string_view text) {
  constexpr std::string_view kPercent = " % ", kIsZero = " == 0";
  const size_t percent = text.find(kPercent);
  if (percent == std::string_view::npos || !text.ends_with(kIsZero)) return std::nullopt;
  const Multiple multiple{text.substr(0, percent), text.substr(percent + kPercent.size())};
  const std::string_view by = multiple.by.substr(0, multiple.by.size() - kIsZero.size());
  constexpr std::string_view kNotInAWord = " ()+-*/%=<>,";
  if (multiple.of.find_first_of(kNotInAWord) != std::string_view::npos ||
      by.find_first_of(kNotInAWord) != std::string_view::npos) {
    return std::nullopt;
  }
  return Multiple{multiple.of, by};
}

}  // namespace

std::string failed_condition(std::string_view keyword, const ConditionInfo& condition, const OperatorInfo& op,
                             const SelectionScope& scope) {
  // "width" -> "width 1023"; what is no name of the condition is a number.
  const auto with_value = [&](std::string_view word) {
    for (uint16_t i : condition.names) {
      if (op.names[i].name == word) return fmt::format("{} {}", word, value_text(op, i, scope));
    }
    return std::string(word);
  };
  if (const auto multiple = as_multiple(condition.text)) {
    return fmt::format("{} is not a multiple of {}", with_value(multiple->of), with_value(multiple->by));
  }
  std::vector<std::string> values;
  for (uint16_t i : condition.names) values.push_back(fmt::format("{} = {}", op.names[i].name, value_text(op, i, scope)));
  return fmt::format("{} `{}` does not hold{}{}", keyword, condition.text, values.empty() ? "" : ": ",
                     fmt::join(values, ", "));
}

// ---- what would help ---------------------------------------------------------------------------------------------------

namespace {

// The layout that a form takes: the desc's own if it can be kept.
OperandDesc desc_of(const OperandForm& form, const OperandDesc& given) {
  OperandDesc desc{form.dtype, form.storage, given.layout};
  if (info(given.layout).storage == form.storage && takes(form, desc)) return desc;
  for (const LayoutInfo& row : kLayouts) {
    desc.layout = row.layout;
    if (row.storage == form.storage && takes(form, desc)) return desc;
  }
  return desc;
}

// The request's operands in the forms that `kernel` takes; `changed` gets the indices of those that differ.
std::vector<OperandDesc> as_taken(const Request& request, const KernelInfo& kernel, std::vector<size_t>& changed) {
  std::vector<OperandDesc> operands(request.operands.begin(), request.operands.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandForm form = request.op->form(kernel.parameters, i);
    if (!operands[i].is_present || takes(form, operands[i])) continue;
    operands[i] = desc_of(form, operands[i]);
    changed.push_back(i);
  }
  return operands;
}

std::string hint_of_untaken_operand(const Request& request, const Filter& filter) {
  const OperatorInfo& op = *request.op;
  for (size_t i = 0; i < request.operands.size(); ++i) {
    if (!request.operands[i].is_present) continue;
    std::vector<std::string> forms;
    bool is_taken = false;
    for (const KernelInfo& kernel : op.kernels) {
      if (!admits(filter, kernel)) continue;
      const OperandForm form = op.form(kernel.parameters, i);
      is_taken |= takes(form, request.operands[i]);
      const std::string text = form_text(form);
      if (std::ranges::find(forms, text) == forms.end()) forms.push_back(text);
    }
    if (!is_taken && !forms.empty()) {
      return fmt::format("no kernel takes {} as {}; there are {}", op.operands[i].name, to_text(request.operands[i]),
                         fmt::join(forms, ", "));
    }
  }
  return "";
}

// What to convert so that a kernel fits.
struct Conversion {
  const KernelInfo* kernel;
  std::vector<OperandDesc> operands;
  std::vector<size_t> changed;
  double cost_us = 0;
};

std::optional<Conversion> conversion_to(const Request& request, const Filter& filter, const KernelInfo& kernel) {
  Conversion conversion{&kernel, {}, {}};
  conversion.operands = as_taken(request, kernel, conversion.changed);
  if (conversion.changed.empty()) return std::nullopt;
  Request converted = request;
  converted.operands = conversion.operands;
  Filter quiet = filter;
  quiet.reasons = false;
  Fitting fitting;
  fit_kernel(converted, quiet, kernel, fitting);
  if (fitting.candidates.empty()) return std::nullopt;
  conversion.cost_us = std::ranges::min_element(fitting.candidates, is_cheaper)->cost_us;
  return conversion;
}

bool is_better(const Conversion& a, const Conversion& b) {
  return std::make_tuple(a.changed.size(), a.cost_us, a.kernel->id) <
         std::make_tuple(b.changed.size(), b.cost_us, b.kernel->id);
}

}  // namespace

std::string hint_of_forms(const Request& request, const Filter& filter) {
  std::optional<Conversion> best;
  for (const KernelInfo& kernel : request.op->kernels) {
    if (!admits(filter, kernel)) continue;
    auto next = conversion_to(request, filter, kernel);
    if (next && (!best || is_better(*next, *best))) best = std::move(next);
  }
  if (!best) return hint_of_untaken_operand(request, filter);
  std::vector<std::string> changes;
  for (size_t i : best->changed) {
    changes.push_back(fmt::format("{} as {}", request.op->operands[i].name, to_text(best->operands[i])));
  }
  return fmt::format("{} fits with {}", best->kernel->id, fmt::join(changes, ", "));
}

}  // namespace qgen::selector
