// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A selection has three steps. First the candidates: all kernels, or the forced ones (force.h). Then those that fit:
// kernels of the operator (fit.h) and of the steps of its recipes (recipe.h). Last their order.
#include "runtime/engine/selector/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "runtime/engine/selector/checks.h"
#include "runtime/engine/selector/force.h"
#include "runtime/engine/selector/recipe.h"

namespace qgen {
namespace {

using selector::Candidate;
using selector::Filter;
using selector::Fitting;
using selector::Forced;
using selector::Request;

// ---- the question ---------------------------------------------------------------------------------------------------

// Scalar fields only: arrays are data for the kernel, no expression reads them.
std::string fields_of(const Problem& problem) {
  std::vector<std::string> fields;
  for (const FieldInfo& field : problem.op->fields) {
    if (field.count == 1) fields.push_back(fmt::format("{} = {}", field.name, value_text(field, problem.fields)));
  }
  return fmt::format("{}", fmt::join(fields, ", "));
}

std::string question_of(const Problem& problem, const std::string& fields, const DeviceProfile& device) {
  const OperatorInfo& op = *problem.op;
  std::vector<std::string> inputs, outputs;
  bool has_shapes = true;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const OperandDesc& operand = problem.operands[i];
    if (!operand.is_present) continue;
    auto& side = op.operands[i].access == Access::read ? inputs : outputs;
    side.push_back(fmt::format("{} {}", op.operands[i].name, operand_text(operand)));
    has_shapes &= operand.shape.has_value();
  }
  return fmt::format("{} of {} -> {}{} on \"{}\"", op.name, fmt::join(inputs, ", "), fmt::join(outputs, ", "),
                     has_shapes ? "" : fmt::format(" ({})", fields), device.name);
}

// ---- single kernels -------------------------------------------------------------------------------------------------

void add_kernels(const Problem& problem, const Request& request, const Filter& filter, bool best_only,
                 Selection& selection) {
  Fitting fitting = selector::fit(request, filter);
  if (best_only && fitting.candidates.size() > 1) fitting.candidates.resize(1);
  for (const Candidate& candidate : fitting.candidates) {
    selection.ranked.push_back(selector::choice_of(problem, request, candidate));
  }
  std::ranges::move(fitting.rejections, std::back_inserter(selection.rejected));
}

// ---- the selection --------------------------------------------------------------------------------------------------

// All fitting choices, ranked, and all refusals.
void collect(const Problem& problem, const Request& request, const Forced& forced, const SelectOptions& options,
             Selection& selection) {
  Filter filter = forced.kernel;
  filter.all_rows = options.all_specializations;
  filter.reasons = !options.best_only;
  filter.with_rarely_best = options.with_rarely_best;
  if (!forced.recipe) add_kernels(problem, request, filter, options.best_only, selection);
  for (const RecipeInfo& recipe : request.op->recipes) {
    const bool is_wanted = forced.recipe ? forced.recipe == &recipe : !forced.kernel.kernel;
    if (!is_wanted) continue;
    auto choices = selector::choices_of(recipe, request, options, forced.steps);
    if (choices) {
      std::ranges::move(*choices, std::back_inserter(selection.ranked));
    } else if (!options.best_only) {
      selection.rejected.push_back(choices.error());
    }
  }
  // Specializations of one variant stay in the spec's order, so that the first is the one that stands for it elsewhere.
  std::ranges::stable_sort(selection.ranked, {}, [](const Choice& choice) {
    const std::string_view id = choice.id;
    return std::tuple(selector::rank_of(choice), id.substr(0, id.find('/')));
  });
}

// ---- quarantined choices --------------------------------------------------------------------------------------------

bool has_quarantined(const SelectOptions& options) {
  return options.force.empty() && options.times && !options.times->quarantined().empty();
}

// "op.vec4" of "op.vec4/workgroup128", and "op.two_pass" of "op.two_pass(op_first/workgroup128, op_second)".
std::string_view name_of(const Choice& choice) {
  return std::string_view(choice.id).substr(0, choice.id.find_first_of("/("));
}

// Ranks as if there were no quarantined choices. Another specialization takes the place of one, or another kernel in a
// step. So all of them are ranked first, and then the best of each variant and recipe stays.
void leave_out_quarantined(const Problem& problem, const Request& request, const SelectOptions& options,
                           Selection& selection) {
  SelectOptions thorough = options;
  thorough.all_specializations = thorough.all_step_kernels = true;
  thorough.best_only = false;
  collect(problem, request, {}, thorough, selection);
  for (const QuarantinedChoice& bad : options.times->quarantined()) {
    const size_t removed = std::erase_if(selection.ranked, [&](const Choice& choice) { return choice.id == bad.id; });
    if (removed == 0) continue;
    selection.rejected.push_back({bad.id, "is quarantined on this device: " + bad.reason, RefusedBy::device});
  }
  std::set<std::string, std::less<>> named;
  std::vector<Choice> best;
  for (Choice& choice : selection.ranked) {
    const bool are_all_wanted = choice.recipe ? options.all_step_kernels : options.all_specializations;
    if (named.emplace(name_of(choice)).second || are_all_wanted) best.push_back(std::move(choice));
  }
  selection.ranked = std::move(best);
  if (options.best_only && !selection.ranked.empty()) selection.rejected.clear();
}

// ---- the answer -----------------------------------------------------------------------------------------------------

// Whether anything of the operator may be left out as rarely the best on the device.
bool has_rarely_best(const OperatorInfo& op, const DeviceProfile& device) {
  const auto is_listed = [&](const OperatorInfo& family) { return selector::rarely_best_on(family, device) != 0; };
  return is_listed(op) || std::ranges::any_of(op.recipes, [&](const RecipeInfo& recipe) {
           return std::ranges::any_of(recipe.steps, [&](const StepInfo& step) { return is_listed(*step.family); });
         });
}

Selection unanswered(std::string question, std::string_view id, std::string reason, std::string hint) {
  return {.question = std::move(question),
          .rejected = {{std::string(id), std::move(reason), RefusedBy::request}},
          .hint = std::move(hint)};
}

}  // namespace

Selection select(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                 const SelectOptions& options) {
  if (!problem.op) return unanswered("a problem without an operator", "", "the problem names no operator", "");
  const OperatorInfo& op = selector::table_of(*problem.op, library);
  if (std::string fault = selector::fault_of(problem); !fault.empty()) {
    return unanswered(fmt::format("{} on \"{}\"", op.name, device.name), op.name, std::move(fault), "");
  }
  Selection selection;
  if (!options.best_or_nothing) {
    selection.fields = fields_of(problem);
    selection.question = question_of(problem, selection.fields, device);
    if (options.times) selection.notes = options.times->notes();
  }
  const auto forced = selector::parse_force(op, library, options.force);
  if (!forced) return unanswered(selection.question, options.force, forced.error().message, forced.error().hint);

  const Request request{&op, problem.fields.data(), problem.operands, &device,
                        options.times && !options.times->empty() ? options.times : nullptr};
  if (has_quarantined(options)) leave_out_quarantined(problem, request, options, selection);
  else collect(problem, request, *forced, options, selection);
  if (!selection.ranked.empty()) {
    if (options.best_only) selection.ranked.resize(1);
    const auto answered = std::make_shared<const Problem>(problem);
    for (Choice& choice : selection.ranked) choice.problem = answered;
    return selection;
  }
  if (!options.with_rarely_best && has_rarely_best(op, device)) {
    SelectOptions with_all = options;
    with_all.with_rarely_best = true;
    return select(problem, device, library, with_all);
  }
  if (options.best_or_nothing) return selection;
  if (options.best_only) {
    SelectOptions with_reasons = options;
    with_reasons.best_only = false;
    return select(problem, device, library, with_reasons);
  }
  if (!forced->recipe) selection.hint = selector::hint_of_forms(request, forced->kernel);
  return selection;
}

}  // namespace qgen
