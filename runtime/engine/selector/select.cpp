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
  collect(problem, request, *forced, options, selection);
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
