// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "runtime/selector/force.h"

namespace qgen::selector {
namespace {

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
      desc =
          source.is_scratch ? OperandDesc{.dtype = recipe.scratch[source.index].dtype} : problem.operands[source.index];
    }
    if (source.seen_as != kAbsent) desc.layout = static_cast<Layout>(source.seen_as);
    step.operands.push_back(desc);
    step.sources.push_back(desc.is_present ? source : OperandSource{false, kAbsent});
  }
  filter.takes = info.takes;
  step.fitting = fit({step.family, step.problem.data(), step.operands, request.device}, filter);
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
    ids.push_back(kernel_id(*steps[i].family, *picked[i]->kernel, picked[i]->row));
    choice.launches.push_back(launch_of(*steps[i].family, *picked[i], steps[i].problem, steps[i].sources));
    choice.cost_us += picked[i]->cost_us;
  }
  choice.id = fmt::format("{}({})", recipe.id, fmt::join(ids, ", "));
  choice.time_us = choice.cost_us;
  if (const KnownTime* time = known(request, choice.id)) {
    choice.time_us = time_of(*time, choice.cost_us);
    choice.source = time->source;
    choice.said = time->said;
  }
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
    return refused(Hurdle::problem, failed_condition("applies_when", condition, *request.op, scope));
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

// Adds those of which a time is known with other kernels of the steps than were picked.
void add_known(const RecipeInfo& recipe, const Problem& problem, const Request& request, const SelectOptions& options,
               std::vector<Choice>& choices) {
  if (!request.times) return;
  const std::string beginning = fmt::format("{}(", recipe.id);
  for (auto time = request.times->lower_bound(beginning); time != request.times->end(); ++time) {
    const std::string& id = time->first;
    if (!id.starts_with(beginning)) break;
    const auto ids = step_ids(id);
    if (ids.size() != recipe.steps.size() || std::ranges::find(choices, id, &Choice::id) != choices.end()) continue;
    const auto steps = resolve_steps(recipe, problem, request, options, ids);
    if (!steps) continue;
    Choice choice = choice_of(recipe, request, *steps, picks(*steps, false).front());
    if (choice.id == id) choices.push_back(std::move(choice));
  }
}

}  // namespace

Outcome<std::vector<Choice>, Rejection> choices_of(const RecipeInfo& recipe, const Problem& problem,
                                                   const Request& request, const SelectOptions& options,
                                                   const std::vector<std::string>& forced_steps) {
  const auto steps = resolve_steps(recipe, problem, request, options, forced_steps);
  if (!steps) return steps.error();
  std::vector<Choice> choices;
  for (const auto& picked : picks(*steps, options.all_step_kernels)) {
    choices.push_back(choice_of(recipe, request, *steps, picked));
  }
  if (forced_steps.empty()) add_known(recipe, problem, request, options, choices);
  if (!options.all_step_kernels) choices = {*std::ranges::min_element(choices, {}, rank_of<Choice>)};
  return choices;
}

}  // namespace qgen::selector
