// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/own_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/engine/library/blob_writer.h"
#include "runtime/models/graph/schedule.h"

namespace qgen::graph {
namespace {

using Kernel = OwnKernels::Kernel;

// The largest scratch, in elements: far more than a device holds, and far too small for sums of sizes to overflow.
constexpr uint64_t kMostElements = uint64_t{1} << 40;

// ---- what the tables' functions say ---------------------------------------------------------------------------------

// KernelInfo::parameters of such a kernel is the Kernel.
OperandForm form_of(const void* kernel, size_t operand) {
  return static_cast<const Kernel*>(kernel)->operands[operand].form;
}

constexpr ConditionInfo kConditions[] = {{"the model that contains this kernel was compiled for this problem", {}}};

// ---- from a library -------------------------------------------------------------------------------------------------

// Collects the kernels of launches, and their modules, each once.
class Collector {
 public:
  explicit Collector(const KernelLibrary& library) : library_(library) {}

  Done add(const Choice& choice) {
    OwnKernels::OwnChoice own{.id = choice.id, .is_recipe = choice.recipe != nullptr};
    for (size_t i = 0; i < choice.scratch_elements.size(); ++i) {
      const ScratchInfo& scratch = choice.recipe->scratch[i];
      own.scratch.push_back({std::string(scratch.name), scratch.dtype, choice.scratch_elements[i]});
    }
    for (const Launch& launch : choice.launches) {
      const auto kernel = number_of(launch);
      if (!kernel) return kernel.error();
      own.launches.push_back({*kernel, launch.groups, launch.problem, launch.operands, launch.indirect});
    }
    parts_.choices.push_back(std::move(own));
    return std::monostate{};
  }

  OwnKernels::Parts parts() {
    const blob_format::PackedFamily packed = blob_format::pack(modules_);
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < modules_.size(); ++i) rows.push_back(i);
    const blob_format::BlobFamily family{&packed, rows};
    parts_.blob = blob_format::write_blob({&family, 1});
    return std::move(parts_);
  }

 private:
  Expected<uint32_t> number_of(const Launch& launch) {
    std::vector<uint32_t> values = specialization_values(*launch.op, launch.specialization, launch.problem.data());
    const auto [known, is_new] =
        kernels_.try_emplace({launch.kernel, values}, static_cast<uint32_t>(parts_.kernels.size()));
    if (!is_new) return known->second;
    const auto module = module_of(*launch.kernel);
    if (!module) return module;
    parts_.kernels.push_back(kernel_of(launch, std::move(values), *module));
    return known->second;
  }

  Expected<uint32_t> module_of(const KernelInfo& kernel) {
    const std::shared_ptr<const Modules> modules = library_.modules();
    const auto [known, is_new] = numbers_.try_emplace(modules->digest(kernel), static_cast<uint32_t>(modules_.size()));
    if (!is_new) return known->second;
    auto words = modules->words(kernel);
    if (!words) return words.error();
    modules_.push_back(*std::move(words));
    return known->second;
  }

  static Kernel kernel_of(const Launch& launch, std::vector<uint32_t> values, uint32_t module) {
    const OperatorInfo& op = *launch.op;
    const InterfaceInfo& interface = op.interface_of(*launch.kernel);
    Kernel kernel{.id = std::string(launch.kernel->id),
                  .bindings = {interface.bindings.begin(), interface.bindings.end()},
                  .push_constants = {interface.push_constants.begin(), interface.push_constants.end()},
                  .problem_buffer = {interface.problem_buffer.begin(), interface.problem_buffer.end()},
                  .push_constants_bytes = interface.push_constants_bytes,
                  .problem_buffer_bytes = interface.problem_buffer_bytes,
                  .slots = {interface.specialization.begin(), interface.specialization.end()},
                  .needs = interface.needs,
                  .required_subgroup_size = interface.required_subgroup_size,
                  .module = module};
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const OperandInfo& operand = op.operands[i];
      kernel.operands.push_back({std::string(operand.name), operand.access, operand.is_optional, operand.in_place,
                                 op.form(launch.kernel->parameters, i)});
    }
    kernel.specialization = std::move(values);
    if (!interface.workgroup.empty())
      std::ranges::copy(interface.workgroup_of(launch.specialization), kernel.workgroup.begin());
    return kernel;
  }

  const KernelLibrary& library_;
  std::map<std::pair<const KernelInfo*, std::vector<uint32_t>>, uint32_t> kernels_;  // with specialization_values()
  std::map<uint64_t, uint32_t> numbers_;                                             // of modules, by their digests
  std::vector<blob_format::Module> modules_;
  OwnKernels::Parts parts_;
};

// ---- what does not hold together; empty: nothing --------------------------------------------------------------------

bool fit(std::span<const BlockField> fields, size_t block_bytes) {
  return std::ranges::all_of(
      fields, [&](const BlockField& field) { return size_t{field.offset} + field.size_bytes <= block_bytes; });
}

std::string_view fault_of(const Kernel& kernel) {
  std::set<uint8_t> numbers;
  for (const BindingInfo& binding : kernel.bindings) {
    const bool is_block = binding.operand == kProblemOperand;
    if (!is_block && binding.operand >= kernel.operands.size()) return "binds an operand that it does not have";
    if (is_block && kernel.problem_buffer_bytes == 0) return "binds a block of no bytes";
    if (!numbers.insert(binding.binding).second) return "binds two operands at one binding";
  }
  if (!fit(kernel.push_constants, kernel.push_constants_bytes) ||
      !fit(kernel.problem_buffer, kernel.problem_buffer_bytes))
    return "has a field past the end of its block";
  if (kernel.push_constants_bytes % 4 != 0) return "has push constants whose size is not a multiple of 4";
  const bool has_values = std::ranges::all_of(
      kernel.slots, [&](const SpecializationSlot& slot) { return slot.index < kernel.specialization.size(); });
  return has_values ? "" : "names a value of its specialization that it does not have";
}

std::string_view fault_of(const OwnKernels::OwnChoice& choice, std::span<const Kernel> kernels) {
  if (choice.launches.empty()) return "launches nothing";
  if (!choice.is_recipe && !choice.scratch.empty()) return "has scratch, but is no recipe";
  for (const OwnKernels::Scratch& scratch : choice.scratch) {
    if (scratch.elements > kMostElements) return "has too much scratch";
  }
  for (const OwnKernels::OwnLaunch& launch : choice.launches) {
    if (launch.kernel >= kernels.size()) return "names a kernel that does not exist";
    if (launch.operands.size() != kernels[launch.kernel].operands.size()) return "has other operands than its kernel";
    for (const OperandSource& source : launch.operands) {
      if (source.is_scratch && source.index >= choice.scratch.size()) return "names scratch that does not exist";
    }
    if (launch.indirect != kAbsent && launch.indirect >= choice.scratch.size())
      return "names scratch that does not exist";
  }
  return "";
}

}  // namespace

// ---- tables ---------------------------------------------------------------------------------------------------------

struct OwnKernels::Table {
  explicit Table(const Kernel& kernel)
      : name("model:" + kernel.id), specialization_names(kernel.specialization.size()) {
    for (const Operand& operand : kernel.operands)
      operands.push_back({operand.name, operand.access, operand.is_optional, 0, operand.in_place});
    std::ranges::copy(kernel.workgroup, workgroup[0]);
    interface = {.bindings = kernel.bindings,
                 .push_constants = kernel.push_constants,
                 .push_constants_bytes = kernel.push_constants_bytes,
                 .problem_buffer = kernel.problem_buffer,
                 .problem_buffer_bytes = kernel.problem_buffer_bytes,
                 .specialization = kernel.slots,
                 .needs = kernel.needs,
                 .workgroup = workgroup,
                 .shared_bytes = shared_bytes,
                 .required_subgroup_size = kernel.required_subgroup_size};
    row = {kernel.id, &kernel, 0, kernel.module};
    op = {.name = name,
          .summary = "a kernel of a compiled model",
          .is_internal = true,
          .operands = operands,
          .conditions = kConditions,
          .specialization_names = specialization_names,
          .specializations = kernel.specialization,
          .interfaces = {&interface, 1},
          .kernels = {&row, 1},
          .form = form_of,
          .value = [](size_t, const SelectionScope&) { return Integer(0); },
          .first_failing = [](const SelectionScope&) { return 0; },
          .first_failing_device = [](const SelectionScope&) { return kAllHold; },
          .grid = [](const SelectionScope&, Integer groups[3]) { std::fill_n(groups, 3, Integer(0)); },
          .cost = [](const SelectionScope&) { return Real(0); }};
  }

  std::string name;  // of no operator that a program has
  std::vector<std::string_view> specialization_names;
  std::vector<OperandInfo> operands;
  uint32_t workgroup[1][3];
  uint32_t shared_bytes[1] = {0};
  InterfaceInfo interface {};
  KernelInfo row{};
  OperatorInfo op{};
};

OwnKernels::~OwnKernels() = default;

OwnKernels::OwnKernels(Parts parts) : parts_(std::move(parts)), scratch_(parts_.choices.size()) {
  for (const Kernel& kernel : parts_.kernels) {
    tables_.push_back(std::make_unique<Table>(kernel));
    operators_.push_back(&tables_.back()->op);
  }
  for (size_t i = 0; i < parts_.choices.size(); ++i) {
    const OwnChoice& own = parts_.choices[i];
    Choice choice{.id = own.id};
    for (const Scratch& scratch : own.scratch) {
      scratch_[i].push_back({scratch.name, scratch.dtype, nullptr});
      choice.scratch_elements.push_back(scratch.elements);
    }
    if (own.is_recipe) {
      recipes_.push_back(std::make_unique<RecipeInfo>(RecipeInfo{.id = own.id, .scratch = scratch_[i]}));
      choice.recipe = recipes_.back().get();
    }
    for (const OwnLaunch& launch : own.launches) {
      const Table& table = *tables_[launch.kernel];
      choice.launches.push_back(
          {&table.op, &table.row, 0, launch.groups, launch.problem, launch.operands, launch.indirect});
    }
    choices_.push_back(std::move(choice));
  }
}

Expected<std::shared_ptr<const OwnKernels>> OwnKernels::of(std::span<const Step> steps, const KernelLibrary& library) {
  Collector collector(library);
  for (const Step& step : steps) {
    if (Done added = collector.add(*step.choice); !added) return added.error();
  }
  return create(collector.parts());
}

Expected<std::shared_ptr<const OwnKernels>> OwnKernels::create(Parts parts) {
  for (const Kernel& kernel : parts.kernels) {
    if (const std::string_view fault = fault_of(kernel); !fault.empty())
      return refused(fmt::format("kernel '{}' {}", kernel.id, fault));
  }
  for (const OwnChoice& choice : parts.choices) {
    if (const std::string_view fault = fault_of(choice, parts.kernels); !fault.empty())
      return refused(fmt::format("the choice '{}' {}", choice.id, fault));
  }
  std::shared_ptr<OwnKernels> own(new OwnKernels(std::move(parts)));
  auto library = KernelLibrary::open({own->operators_, std::as_bytes(std::span(own->parts_.blob))});
  if (!library) return library.error();
  own->library_.emplace(*std::move(library));
  return std::shared_ptr<const OwnKernels>(std::move(own));
}

uint64_t digest_of(const Choice& choice, const KernelLibrary& library) {
  std::vector<uint64_t> digests;
  for (const Launch& launch : choice.launches) digests.push_back(library.digest(*launch.kernel));
  return choice.recipe ? joined_digest(digests) : digests.front();
}

}  // namespace qgen::graph
