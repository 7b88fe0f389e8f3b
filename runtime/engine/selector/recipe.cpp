// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

#include "runtime/engine/selector/force.h"

namespace qgen::selector {
namespace {

SelectionScope scope_of(const Request& whole) { return {whole.problem, nullptr, nullptr, &whole.device->numbers}; }

// Without the shape, which no kernel is chosen by.
OperandDesc operand_of(OperandSource source, const RecipeInfo& recipe, std::span<const OperandDesc> whole) {
  if (source.index == kAbsent) return OperandDesc::left_out();
  if (source.is_scratch) return {.dtype = recipe.scratch[source.index].dtype};
  const OperandDesc& ours = whole[source.index];
  return {ours.dtype, ours.storage, ours.layout, ours.is_present, ours.other_layouts};
}

// A step's refusal is that of the kernel that passed the most checks.
std::string why_no_kernel(const std::vector<Rejection>& rejections, const OperatorInfo& family, size_t index) {
  const std::string start = fmt::format("step {} has no kernel of '{}'", index + 1, family.name);
  if (rejections.empty()) return start + " that it takes";
  const auto furthest = std::ranges::max_element(rejections, {}, &Rejection::refused_by);
  return fmt::format("{}: {}: {}", start, furthest->id, furthest->reason);
}

// The best kernel of every step, and, if all are wanted, each other kernel of each step among the others' best.
std::vector<std::vector<Candidate>> picks(const std::vector<Fitting>& steps, bool all_step_kernels) {
  std::vector<Candidate> best;
  for (const Fitting& step : steps) best.push_back(step.candidates.front());
  std::vector<std::vector<Candidate>> result{best};
  if (!all_step_kernels) return result;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Candidate& other : std::span(steps[i].candidates).subspan(1)) {
      result.push_back(best);
      result.back()[i] = other;
    }
  }
  return result;
}

// Why a recipe cannot be used, or the kernels of its steps.
Outcome<std::vector<Fitting>, Rejection> fit_steps(const RecipeInfo& recipe, const Request& request,
                                                   const SelectOptions& options,
                                                   const std::vector<std::string>& forced_steps) {
  const auto refused = [&](RefusedBy check, std::string reason) {
    return Rejection{std::string(recipe.id), std::move(reason), check};
  };
  const int failing = first_failing(recipe, request);
  if (failing != kAllHold) {
    const ConditionInfo& condition = recipe.conditions[static_cast<size_t>(failing)];
    return refused(RefusedBy::problem, failed_condition("applies_when", condition, *request.op, scope_of(request)));
  }
  std::vector<Fitting> steps;
  Step step;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    Filter filter{.reasons = !options.best_only,
                  .all_rows = options.all_specializations,
                  .with_rarely_best = options.with_rarely_best};
    if (!forced_steps.empty()) {
      const FoundKernel found = find_kernel(*recipe.steps[i].family, forced_steps[i]);
      if (!found.kernel || !found.unknown_specialization.empty()) {
        return refused(RefusedBy::request, fmt::format("step {} has no kernel '{}'", i + 1, forced_steps[i]));
      }
      filter.kernel = found.kernel;
      filter.row = found.row;
    }
    filter.takes = recipe.steps[i].takes;
    resolve(recipe.steps[i], recipe, request, step);
    steps.push_back(fit(request_of(step, request), filter));
    if (!steps.back().candidates.empty()) continue;
    return refused(RefusedBy::problem, why_no_kernel(steps.back().rejections, *step.family, i));
  }
  return steps;
}

// Whether the time ranks behind the best of these choices. A time that is scaled by costs is not known yet.
bool is_behind(const KnownTime& time, const std::vector<Choice>& choices) {
  if (time.cost_us > 0) return false;
  const std::tuple rank(time.source, !time.is_final, time.us);
  return std::ranges::any_of(choices, [&](const Choice& choice) { return rank_of(choice) <= rank; });
}

// Adds recipes with a known time that have other kernels in their steps than the picked ones. Unless all are wanted,
// those that rank behind another are left out: finding their kernels is most of a first decision.
void add_known(const RecipeInfo& recipe, const Request& request, const SelectOptions& options,
               std::vector<Choice>& choices) {
  if (!request.times) return;
  const std::string beginning = fmt::format("{}(", recipe.id);
  for (const auto& [id, time] : request.times->beginning_with(beginning)) {
    if (!options.all_step_kernels && is_behind(time, choices)) continue;
    const auto ids = step_ids(id);
    if (ids.size() != recipe.steps.size() || std::ranges::find(choices, id, &Choice::id) != choices.end()) continue;
    const auto steps = fit_steps(recipe, request, options, ids);
    if (!steps) continue;
    Choice choice = choice_of(recipe, request, picks(*steps, false).front());
    if (choice.id == id) choices.push_back(std::move(choice));
  }
}

}  // namespace

int first_failing(const RecipeInfo& recipe, const Request& request) {
  return recipe.conditions.empty() ? kAllHold : recipe.first_failing(scope_of(request));
}

void resolve(const StepInfo& info, const RecipeInfo& recipe, const Request& whole, Step& step) {
  step.family = info.family;
  step.problem.assign(info.family->problem_bytes, std::byte{0});
  step.operands.clear();
  step.sources.clear();
  info.make_problem(scope_of(whole), step.problem.data());
  for (OperandSource source : info.operands) {
    OperandDesc desc = operand_of(source, recipe, whole.operands);
    if (source.seen_as != kAbsent) desc.layout = static_cast<Layout>(source.seen_as);
    step.sources.push_back(desc.is_present ? source : OperandSource{false, kAbsent});
    step.operands.push_back(std::move(desc));
  }
}

Request request_of(const Step& step, const Request& whole) {
  return {step.family, step.problem.data(), step.operands, whole.device};
}

namespace {

// The launches of indirect steps, and the most workgroups that their counters may count.
void set_indirect(const RecipeInfo& recipe, std::vector<Launch>& launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    const IndirectInfo& indirect = recipe.steps[i].indirect;
    if (indirect.scratch == kAbsent) continue;
    launches[i].indirect = indirect.scratch;
    const auto most = static_cast<uint32_t>(std::min<uint64_t>(launches[i].groups[0], UINT32_MAX));
    std::memcpy(launches[indirect.counter].problem.data() + indirect.most_workgroups, &most, sizeof most);
  }
}

}  // namespace

Choice choice_of(const RecipeInfo& recipe, const Request& request, std::span<const Candidate> picked) {
  Choice choice{.recipe = &recipe};
  choice.id = recipe.id;
  for (size_t i = 0; i < picked.size(); ++i) {
    Step step;
    resolve(recipe.steps[i], recipe, request, step);
    choice.id += i == 0 ? "(" : ", ";
    choice.id += kernel_id(*step.family, *picked[i].kernel, picked[i].row);
    choice.launches.push_back(launch_of(*step.family, picked[i], std::move(step.problem), std::move(step.sources)));
    choice.cost_us += picked[i].cost_us;
  }
  choice.id += ')';
  set_indirect(recipe, choice.launches);
  choice.time_us = choice.cost_us;
  if (const KnownTime* time = known(request, choice.id)) {
    choice.time_us = time_of(*time, choice.cost_us);
    choice.source = time->source;
    choice.is_final = time->is_final;
    choice.source_text = request.times->source_text(*time);
  }
  for (const ScratchInfo& scratch : recipe.scratch) {
    choice.scratch_elements.push_back(
        static_cast<uint64_t>(std::max<int64_t>(scratch.elements(scope_of(request)).value, 0)));
  }
  return choice;
}

Outcome<std::vector<Choice>, Rejection> choices_of(const RecipeInfo& recipe, const Request& request,
                                                   const SelectOptions& options,
                                                   const std::vector<std::string>& forced_steps) {
  const auto steps = fit_steps(recipe, request, options, forced_steps);
  if (!steps) return steps.error();
  std::vector<Choice> choices;
  for (const auto& picked : picks(*steps, options.all_step_kernels)) {
    choices.push_back(choice_of(recipe, request, picked));
  }
  if (forced_steps.empty()) add_known(recipe, request, options, choices);
  if (!options.all_step_kernels) choices = {*std::ranges::min_element(choices, {}, rank_of<Choice>)};
  return choices;
}

}  // namespace qgen::selector
