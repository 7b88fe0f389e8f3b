// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/work_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/in_place.h"
#include "runtime/engine/selector/in_place.h"

namespace qgen::dispatch {
namespace {

// ---- the choice -----------------------------------------------------------------------------------------------------

bool is_within(const KernelInfo* kernel, std::span<const KernelInfo> kernels) {
  const std::less_equal<const KernelInfo*> is_not_past;
  return kernel && !kernels.empty() && is_not_past(kernels.data(), kernel) && is_not_past(kernel, &kernels.back());
}

bool fits(std::span<const BlockField> fields, size_t problem_bytes) {
  return std::ranges::all_of(fields, [&](const BlockField& field) {
    return size_t{field.problem_offset} + field.size_bytes <= problem_bytes;
  });
}

// The fault of a launch; empty: none.
std::string fault_of(const Launch& launch, const Choice& choice, const KernelLibrary& library) {
  // Modules are known by their number in a library's blob, so a kernel of another would be some other kernel here.
  if (std::ranges::find(library.operators(), launch.op) == library.operators().end()) {
    return launch.op ? fmt::format("is of operator '{}' of another kernel library", launch.op->name)
                     : "names no operator";
  }
  const OperatorInfo& op = *launch.op;
  if (!is_within(launch.kernel, op.kernels)) return fmt::format("names no kernel of '{}'", op.name);
  if (launch.specialization >= op.specialization_count()) {
    return fmt::format("names specialization {} of {}", launch.specialization, op.specialization_count());
  }
  if (launch.operands.size() != op.operands.size()) {
    return fmt::format("has {} operands, and '{}' takes {}", launch.operands.size(), op.name, op.operands.size());
  }
  const InterfaceInfo& interface = op.interface_of(*launch.kernel);
  if (!fits(interface.push_constants, launch.problem.size()) ||
      !fits(interface.problem_buffer, launch.problem.size())) {
    return fmt::format("has a problem of {} bytes, which is not the size of a problem of '{}'", launch.problem.size(),
                       op.name);
  }
  const bool has_scratch = std::ranges::all_of(launch.operands, [&](OperandSource source) {
    return !source.is_scratch || source.index < choice.scratch_elements.size();
  });
  const bool has_count = launch.indirect == kAbsent || launch.indirect < choice.scratch_elements.size();
  return has_scratch && has_count ? "" : "names scratch that the choice does not have";
}

// visit(launch, index among its operands, operand of the whole)
template <typename Visit>
void for_each_operand(const Choice& choice, Visit visit) {
  for (const Launch& launch : choice.launches) {
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const OperandSource source = launch.operands[i];
      if (!source.is_scratch && source.index != kAbsent) visit(launch, i, size_t{source.index});
    }
  }
}

// How many operands the launches name.
size_t named_operands(const Choice& choice) {
  size_t count = 0;
  for_each_operand(choice, [&](const Launch&, size_t, size_t operand) { count = std::max(count, operand + 1); });
  return count;
}

size_t operand_count(const Choice& choice) {
  if (choice.problem) return choice.problem->operands.size();
  return choice.recipe ? named_operands(choice) : choice.launches.front().op->operands.size();
}

Done check_choice(const Choice* choice, const KernelLibrary& library) {
  if (!choice) return refused("a work has no choice", "use a choice of select()");
  const auto refuse = [&](std::string fault) {
    return refused(fmt::format("the choice '{}' {}", choice->id, std::move(fault)),
                   "choose with select(), from the library of this executor");
  };
  if (choice->launches.empty()) return refuse("launches nothing");
  const size_t scratches = choice->recipe ? choice->recipe->scratch.size() : 0;
  if (choice->scratch_elements.size() != scratches) {
    return refuse(fmt::format("has sizes for {} scratch buffers, and its recipe has {}",
                              choice->scratch_elements.size(), scratches));
  }
  for (size_t i = 0; i < choice->launches.size(); ++i) {
    std::string fault = fault_of(choice->launches[i], *choice, library);
    if (!fault.empty()) return refuse(fmt::format("is incomplete: launch {} {}", i + 1, std::move(fault)));
  }
  const Problem* problem = choice->problem.get();
  if (problem && (!problem->op || problem->op->operands.size() != problem->operands.size())) {
    return refuse("was made for an incomplete problem");
  }
  if (const size_t named = named_operands(*choice); named > operand_count(*choice)) {
    return refuse(fmt::format("names {} operands, and has {}", named, operand_count(*choice)));
  }
  return std::monostate{};
}

// ---- its operands ---------------------------------------------------------------------------------------------------

std::string name_of(const Choice& choice, size_t operand) {
  if (choice.problem) return fmt::format("operand '{}'", choice.problem->op->operands[operand].name);
  std::string name = fmt::format("operand {}", operand);
  for_each_operand(choice, [&](const Launch& launch, size_t i, size_t whole) {
    if (whole == operand) name = fmt::format("operand '{}'", launch.op->operands[i].name);
  });
  return name;
}

std::string text_of(const OperandDesc& desc) {
  return fmt::format("{}{} {} {}", name(desc.dtype), desc.shape ? " " + to_text(*desc.shape) : "", name(desc.storage),
                     name(desc.layout));
}

// Whether a kernel that was chosen for `wanted` may be given `given`.
bool stands_for(const DeviceTensor& given, const OperandDesc& wanted) {
  const bool has_layout =
      given.layout() == wanted.layout || (wanted.other_layouts >> static_cast<unsigned>(given.layout()) & 1) != 0;
  return given.dtype() == wanted.dtype && given.storage() == wanted.storage && has_layout &&
         (!wanted.shape || given.shape() == *wanted.shape);
}

Done check_operand(const Work& work, size_t index) {
  const OperandDesc& wanted = work.choice->problem->operands[index];
  const DeviceTensor* given = work.operands[index];
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("{} of '{}' {}", name_of(*work.choice, index), work.choice->id, fault),
                   "call select() for these operands, or give the operands of its problem");
  };
  if (!given && wanted.is_present) return refuse("is null, and was not when the choice was made");
  if (given && !wanted.is_present) return refuse("is given, and was left out when the choice was made");
  if (!given || stands_for(*given, wanted)) return std::monostate{};
  return refuse(fmt::format("is {}, and the choice was made for {}", text_of(given->desc()), text_of(wanted)));
}

// Which operands of the whole some launch writes.
std::vector<bool> written_operands(const Choice& choice, size_t count) {
  std::vector<bool> is_written(count);
  for (const Launch& launch : choice.launches) {
    for (const BindingInfo& binding : launch.op->interface_of(*launch.kernel).bindings) {
      if (binding.operand == kProblemOperand || binding.access == Access::read) continue;
      const OperandSource source = launch.operands[binding.operand];
      if (!source.is_scratch && source.index != kAbsent) is_written[source.index] = true;
    }
  }
  return is_written;
}

// Whether a work may write `output` over `input`: all of its bytes, element over element.
bool is_in_place(const Work& work, size_t output, size_t input) {
  if (!may_be_in_place(*work.choice, output, input)) return false;
  const DeviceTensor &written = *work.operands[output], &read = *work.operands[input];
  return lie_alike(written, read) && are_same_memory(written.memory(), read.memory());
}

Done check_aliases(const Work& work) {
  const std::vector<bool> is_written = written_operands(*work.choice, work.operands.size());
  for (size_t a = 0; a < work.operands.size(); ++a) {
    for (size_t b = a + 1; b < work.operands.size(); ++b) {
      const bool share =
          work.operands[a] && work.operands[b] && share_memory(work.operands[a]->memory(), work.operands[b]->memory());
      if (!share || !(is_written[a] || is_written[b]) || is_in_place(work, a, b) || is_in_place(work, b, a)) continue;
      return refused(
          fmt::format("{} and {} of '{}' share memory, and one is written", name_of(*work.choice, a),
                      name_of(*work.choice, b), work.choice->id),
          "allocate() a separate tensor for the output: a kernel may read inputs after it has written outputs, "
          "unless its spec declares the output in_place");
    }
  }
  return std::monostate{};
}

// Of a work that brings its own.
Done check_scratch(const Work& work) {
  const uint64_t needed = scratch_bytes(*work.choice);
  const DeviceTensor::Memory& scratch = work.scratch->memory();
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("the scratch of '{}' {}", work.choice->id, fault));
  };
  if (scratch.storage != Storage::buffer || scratch.tensor_bytes < needed)
    return refuse(fmt::format("takes {} bytes of a buffer, and was given {}", needed, scratch.tensor_bytes));
  const bool is_shared = std::ranges::any_of(
      work.operands, [&](const DeviceTensor* operand) { return operand && share_memory(operand->memory(), scratch); });
  return is_shared ? Done(refuse("shares memory with an operand")) : Done(std::monostate{});
}

}  // namespace

Done check_work(const Work& work, const KernelLibrary& library) {
  if (Done whole = check_choice(work.choice, library); !whole) return whole;
  return check_operands(work);
}

Done check_operands(const Work& work) {
  const Choice& choice = *work.choice;
  const size_t count = operand_count(choice);
  if (work.operands.size() != count) {
    return refused(fmt::format("'{}' was given {} operands, and takes {}", choice.id, work.operands.size(), count),
                   "give one for each operand of the spec, null for an optional one that is left out");
  }
  if (choice.problem) {
    for (size_t i = 0; i < count; ++i) {
      if (Done sound = check_operand(work, i); !sound) return sound;
    }
  }
  if (Done sound = check_aliases(work); !sound) return sound;
  return work.scratch ? check_scratch(work) : Done(std::monostate{});
}

}  // namespace qgen::dispatch
