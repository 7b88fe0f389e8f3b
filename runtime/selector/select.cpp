// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A selection is three steps: what may be chosen at all (everything, or what is forced), what fits (fit.h, for the
// operator's own kernels and for the steps of its recipes), and the order of what fits.
#include "runtime/selector/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <tuple>

#include "runtime/library/nearest.h"
#include "runtime/selector/fit.h"

namespace qgen {
namespace {

using selector::Candidate;
using selector::Filter;
using selector::Fitting;
using selector::Request;

// ---- the question ------------------------------------------------------------------------------------------------------

std::string field_text(const FieldInfo& field, const std::byte* problem) {
  const auto value = [&]<typename T>(T number) {
    std::memcpy(&number, problem + field.offset, sizeof(T));
    return fmt::format("{} = {}", field.name, number);
  };
  switch (field.kind) {
    case FieldInfo::Kind::u32: return value(uint32_t{});
    case FieldInfo::Kind::i32: return value(int32_t{});
    case FieldInfo::Kind::f32: return value(float{});
  }
  return "";
}

// Scalar fields only: arrays are data for the kernel, no expression reads them.
std::string question_of(const Problem& problem, const DeviceProfile& device) {
  const OperatorInfo& op = *problem.op;
  std::vector<std::string> inputs, outputs, fields;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (!problem.operands[i].is_present) continue;
    auto& side = op.operands[i].access == Access::read ? inputs : outputs;
    side.push_back(fmt::format("{} {}", op.operands[i].name, selector::to_text(problem.operands[i])));
  }
  for (const FieldInfo& field : op.fields) {
    if (field.count == 1) fields.push_back(field_text(field, problem.fields.data()));
  }
  return fmt::format("{} of {} -> {} ({}) on \"{}\"", op.name, fmt::join(inputs, ", "), fmt::join(outputs, ", "),
                     fmt::join(fields, ", "), device.name);
}

// What is wrong with the request itself; empty: nothing.
std::string fault_of(const Problem& problem) {
  if (problem.operands.size() != problem.op->operands.size()) {
    return fmt::format("takes {} operands, given {}", problem.op->operands.size(), problem.operands.size());
  }
  if (problem.fields.size() != problem.op->problem_bytes) {
    return fmt::format("takes a problem of {} bytes, given {}", problem.op->problem_bytes, problem.fields.size());
  }
  return "";
}

// ---- forcing -----------------------------------------------------------------------------------------------------------

// What SelectOptions::force names. Without force: nothing is set.
struct Forced {
  Filter kernel;                      // if .kernel is set
  const RecipeInfo* recipe = nullptr;
  std::vector<std::string> steps;     // kernel ids of the recipe's steps; empty: any
};

// A kernel of `op` by its id, with or without a specialization.
struct FoundKernel {
  const KernelInfo* kernel = nullptr;
  std::optional<size_t> row;
  std::string unknown_specialization;  // not empty: the kernel has none of this name
};
FoundKernel find_kernel(const OperatorInfo& op, std::string_view id) {
  const size_t slash = id.find('/');
  const std::string_view variant = id.substr(0, slash);
  const auto kernel = std::ranges::lower_bound(op.kernels, variant, {}, &KernelInfo::id);
  if (kernel == op.kernels.end() || kernel->id != variant) return {};
  if (slash == std::string_view::npos) return {&*kernel, std::nullopt, ""};
  const std::string_view wanted = id.substr(slash + 1);
  for (size_t row = 0; row < op.specialization_count(); ++row) {
    if (selector::specialization_id(op, row) == wanted) return {&*kernel, row, ""};
  }
  return {&*kernel, std::nullopt, std::string(wanted)};
}

std::string specializations_text(const OperatorInfo& op) {
  std::vector<std::string> ids;
  for (size_t row = 0; row < op.specialization_count(); ++row) ids.push_back(selector::specialization_id(op, row));
  return fmt::format("{}", fmt::join(ids, ", "));
}

Error unknown_id(const OperatorInfo& op, const KernelLibrary& library, std::string_view id) {
  const auto elsewhere = library.find_kernel(id.substr(0, id.find('/')));
  if (elsewhere.op && elsewhere.op != &op) {
    return {Error::Kind::not_found, fmt::format("belongs to '{}', not to '{}'", elsewhere.op->name, op.name), ""};
  }
  std::vector<std::string_view> known;
  for (const KernelInfo& kernel : op.kernels) known.push_back(kernel.id);
  for (const RecipeInfo& recipe : op.recipes) known.push_back(recipe.id);
  const std::string_view meant = nearest(id.substr(0, id.find_first_of("/(")), known);
  return {Error::Kind::not_found, fmt::format("is no kernel or recipe of '{}'", op.name),
          meant.empty() ? "" : fmt::format("did you mean '{}'?", meant)};
}

// "op.two_pass(a, b)" -> {"a", "b"}
std::vector<std::string> step_ids(std::string_view in_parentheses) {
  std::vector<std::string> ids;
  while (!in_parentheses.empty()) {
    const size_t comma = in_parentheses.find(", ");
    ids.emplace_back(in_parentheses.substr(0, comma));
    in_parentheses = comma == std::string_view::npos ? "" : in_parentheses.substr(comma + 2);
  }
  return ids;
}

Expected<Forced> parse_force(const OperatorInfo& op, const KernelLibrary& library, std::string_view force) {
  Forced forced;
  if (force.empty()) return forced;
  const size_t open = force.find('(');
  const auto recipe = std::ranges::find(op.recipes, force.substr(0, open), &RecipeInfo::id);
  if (recipe != op.recipes.end()) {
    forced.recipe = &*recipe;
    if (open != std::string_view::npos && force.ends_with(')')) {
      forced.steps = step_ids(force.substr(open + 1, force.size() - open - 2));
    }
    if (!forced.steps.empty() && forced.steps.size() != recipe->steps.size()) {
      return Error{Error::Kind::invalid_argument,
                   fmt::format("has {} steps, and kernels are given for {}", recipe->steps.size(), forced.steps.size()), ""};
    }
    return forced;
  }
  const FoundKernel found = find_kernel(op, force);
  if (!found.kernel) return unknown_id(op, library, force);
  if (!found.unknown_specialization.empty()) {
    return Error{Error::Kind::not_found, fmt::format("has no specialization '{}'", found.unknown_specialization),
                 fmt::format("it has {}", specializations_text(op))};
  }
  forced.kernel = {.kernel = found.kernel, .row = found.row};
  return forced;
}

// ---- single kernels ----------------------------------------------------------------------------------------------------

Launch launch_of(const OperatorInfo& family, const Candidate& candidate, std::vector<std::byte> problem,
                 std::vector<OperandSource> operands) {
  return {&family, candidate.kernel, candidate.row, candidate.groups, std::move(problem), std::move(operands)};
}

std::vector<OperandSource> own_operands(const Problem& problem) {
  std::vector<OperandSource> sources;
  for (size_t i = 0; i < problem.operands.size(); ++i) {
    sources.push_back({false, problem.operands[i].is_present ? static_cast<uint8_t>(i) : kAbsent});
  }
  return sources;
}

void add_kernels(const Problem& problem, const Request& request, const Filter& filter, bool best_only,
                 Selection& selection) {
  Fitting fitting = selector::fit(request, filter);
  if (best_only && fitting.candidates.size() > 1) fitting.candidates.resize(1);
  const auto sources = own_operands(problem);
  for (const Candidate& candidate : fitting.candidates) {
    Choice choice{.id = selector::kernel_id(*request.op, *candidate.kernel, candidate.row), .cost_us = candidate.cost_us};
    choice.launches.push_back(launch_of(*request.op, candidate, problem.fields, sources));
    selection.ranked.push_back(std::move(choice));
  }
  std::ranges::move(fitting.rejections, std::back_inserter(selection.rejected));
}

// ---- recipes -----------------------------------------------------------------------------------------------------------

// A step, resolved: what it computes, on what, and the kernels that can.
struct Step {
  const OperatorInfo* family = nullptr;
  std::vector<std::byte> problem;
  std::vector<OperandDesc> operands;
  std::vector<OperandSource> sources;
  Fitting fitting;
};

Step resolve(const StepInfo& info, const RecipeInfo& recipe, const Problem& problem, const Request& request,
             Filter filter) {
  Step step{.family = info.family, .problem = std::vector<std::byte>(info.family->problem_bytes)};
  info.make_problem({request.problem, nullptr, nullptr, &request.device->numbers}, step.problem.data());
  for (OperandSource source : info.operands) {
    OperandDesc desc{.is_present = false};
    if (source.index != kAbsent) {
      desc = source.is_scratch ? OperandDesc{.dtype = recipe.scratch[source.index].dtype} : problem.operands[source.index];
    }
    step.operands.push_back(desc);
    step.sources.push_back(desc.is_present ? source : OperandSource{false, kAbsent});
  }
  filter.takes = info.takes;
  step.fitting = selector::fit({step.family, step.problem.data(), step.operands, request.device}, filter);
  return step;
}

// The refusal of the kernel that came furthest stands for all of a step's.
std::string why_no_kernel(const Step& step, size_t index) {
  const auto& rejections = step.fitting.rejections;
  const std::string start = fmt::format("step {} has no kernel of '{}'", index + 1, step.family->name);
  if (rejections.empty()) return start + " that it takes";
  const auto furthest = std::ranges::max_element(rejections, {}, &Rejection::hurdle);
  return fmt::format("{}: {}: {}", start, furthest->id, furthest->reason);
}

Choice choice_of(const RecipeInfo& recipe, const Request& request, const std::vector<Step>& steps,
                 const std::vector<const Candidate*>& picked) {
  const SelectionScope scope{request.problem, nullptr, nullptr, &request.device->numbers};
  Choice choice{.recipe = &recipe};
  std::vector<std::string> ids;
  for (size_t i = 0; i < steps.size(); ++i) {
    ids.push_back(selector::kernel_id(*steps[i].family, *picked[i]->kernel, picked[i]->row));
    choice.launches.push_back(launch_of(*steps[i].family, *picked[i], steps[i].problem, steps[i].sources));
    choice.cost_us += picked[i]->cost_us;
  }
  choice.id = fmt::format("{}({})", recipe.id, fmt::join(ids, ", "));
  for (const ScratchInfo& scratch : recipe.scratch) {
    choice.scratch_elements.push_back(static_cast<uint64_t>(std::max<int64_t>(scratch.elements(scope).value, 0)));
  }
  return choice;
}

// The best kernel of every step, and, if all are wanted, each other kernel of each step among the others' best.
std::vector<std::vector<const Candidate*>> picks(const std::vector<Step>& steps, bool all_step_kernels) {
  std::vector<const Candidate*> best;
  for (const Step& step : steps) best.push_back(&step.fitting.candidates.front());
  std::vector<std::vector<const Candidate*>> result{best};
  if (!all_step_kernels) return result;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Candidate& other : std::span(steps[i].fitting.candidates).subspan(1)) {
      result.push_back(best);
      result.back()[i] = &other;
    }
  }
  return result;
}

// Why a recipe cannot be used, or its steps.
Outcome<std::vector<Step>, Rejection> resolve_steps(const RecipeInfo& recipe, const Problem& problem,
                                                    const Request& request, const SelectOptions& options,
                                                    const std::vector<std::string>& forced_steps) {
  const auto refused = [&](Hurdle hurdle, std::string reason) {
    return Rejection{std::string(recipe.id), std::move(reason), hurdle};
  };
  const SelectionScope scope{request.problem, nullptr, nullptr, &request.device->numbers};
  const int failing = recipe.conditions.empty() ? kAllHold : recipe.first_failing(scope);
  if (failing != kAllHold) {
    const ConditionInfo& condition = recipe.conditions[static_cast<size_t>(failing)];
    return refused(Hurdle::problem, selector::failed_condition("applies_when", condition, *request.op, scope));
  }
  std::vector<Step> steps;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    Filter filter{.reasons = !options.best_only, .all_rows = options.all_specializations};
    if (!forced_steps.empty()) {
      const FoundKernel found = find_kernel(*recipe.steps[i].family, forced_steps[i]);
      if (!found.kernel || !found.unknown_specialization.empty()) {
        return refused(Hurdle::request, fmt::format("step {} has no kernel '{}'", i + 1, forced_steps[i]));
      }
      filter.kernel = found.kernel;
      filter.row = found.row;
    }
    steps.push_back(resolve(recipe.steps[i], recipe, problem, request, filter));
    if (steps.back().fitting.candidates.empty()) return refused(Hurdle::problem, why_no_kernel(steps.back(), i));
  }
  return steps;
}

void add_recipe(const RecipeInfo& recipe, const Problem& problem, const Request& request, const SelectOptions& options,
                const std::vector<std::string>& forced_steps, Selection& selection) {
  const auto steps = resolve_steps(recipe, problem, request, options, forced_steps);
  if (!steps) {
    if (!options.best_only) selection.rejected.push_back(steps.error());
    return;
  }
  for (const auto& picked : picks(*steps, options.all_step_kernels)) {
    selection.ranked.push_back(choice_of(recipe, request, *steps, picked));
  }
}

// ---- the selection -----------------------------------------------------------------------------------------------------

// All that fits, by cost, and all refusals.
void collect(const Problem& problem, const Request& request, const Forced& forced, const SelectOptions& options,
             Selection& selection) {
  Filter filter = forced.kernel;
  filter.all_rows = options.all_specializations;
  filter.reasons = !options.best_only;
  if (!forced.recipe) add_kernels(problem, request, filter, options.best_only, selection);
  for (const RecipeInfo& recipe : request.op->recipes) {
    const bool is_wanted = forced.recipe ? forced.recipe == &recipe : !forced.kernel.kernel;
    if (is_wanted) add_recipe(recipe, problem, request, options, forced.steps, selection);
  }
  std::ranges::sort(selection.ranked, [](const Choice& a, const Choice& b) {
    return std::tie(a.cost_us, a.id) < std::tie(b.cost_us, b.id);
  });
}

Selection refused(std::string question, std::string_view id, std::string reason, std::string hint) {
  return {std::move(question), {}, {{std::string(id), std::move(reason), Hurdle::request}}, std::move(hint)};
}

}  // namespace

Selection select(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                 const SelectOptions& options) {
  assert(problem.op && "a problem belongs to an operator");
  const OperatorInfo& op = *problem.op;
  if (std::string fault = fault_of(problem); !fault.empty()) {
    return refused(fmt::format("{} on \"{}\"", op.name, device.name), op.name, std::move(fault), "");
  }
  Selection selection{.question = question_of(problem, device)};
  const auto forced = parse_force(op, library, options.force);
  if (!forced) return refused(selection.question, options.force, forced.error().message, forced.error().hint);

  const Request request{&op, problem.fields.data(), problem.operands, &device};
  collect(problem, request, *forced, options, selection);
  if (!selection.ranked.empty()) {
    if (options.best_only) selection.ranked.resize(1);
    return selection;
  }
  if (options.best_only) {
    SelectOptions with_reasons = options;
    with_reasons.best_only = false;
    return select(problem, device, library, with_reasons);
  }
  if (!forced->recipe) selection.hint = selector::hint_of_forms(request, forced->kernel);
  return selection;
}

}  // namespace qgen
