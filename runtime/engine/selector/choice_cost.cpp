// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/choice_cost.h"

#include <algorithm>

#include "runtime/engine/selector/checks.h"
#include "runtime/engine/selector/force.h"
#include "runtime/engine/selector/recipe.h"

namespace qgen::selector {
namespace {

std::optional<ChoiceParts::Kernel> part_of(const OperatorInfo& family, std::string_view id) {
  const FoundKernel found = find_kernel(family, id);
  if (!found.kernel || !found.unknown_specialization.empty()) return std::nullopt;
  if (!found.row && family.specialization_count() != 1) return std::nullopt;
  return ChoiceParts::Kernel{found.kernel, found.row.value_or(0)};
}

std::optional<double> cost_of_kernel(const ChoiceParts::Kernel& choice, const Request& request) {
  const KernelInfo& kernel = *choice.kernel;
  for (size_t i = 0; i < request.operands.size(); ++i) {
    if (check_operand(request, i, request.op->form(kernel.parameters, i))) return std::nullopt;
  }
  if (check_module(*request.device, request.op->interface_of(kernel))) return std::nullopt;
  if (check_device(request, kernel, choice.row) || check_problem(request, kernel, choice.row)) return std::nullopt;
  return cost_of(*request.op, scope_of(request, kernel, choice.row));
}

}  // namespace

std::optional<ChoiceParts> parts_of(const OperatorInfo& op, std::string_view id) {
  ChoiceParts parts;
  const auto recipe = std::ranges::find(op.recipes, id.substr(0, id.find('(')), &RecipeInfo::id);
  if (recipe == op.recipes.end()) {
    const auto kernel = part_of(op, id);
    if (!kernel) return std::nullopt;
    parts.kernels.push_back(*kernel);
    return parts;
  }
  parts.recipe = &*recipe;
  const std::vector<std::string> ids = step_ids(id);
  if (ids.size() != recipe->steps.size()) return std::nullopt;
  for (size_t i = 0; i < ids.size(); ++i) {
    const StepInfo& step = recipe->steps[i];
    const auto kernel = part_of(*step.family, ids[i]);
    if (!kernel || (step.takes && !step.takes(kernel->kernel->parameters))) return std::nullopt;
    parts.kernels.push_back(*kernel);
  }
  return parts;
}

std::optional<double> cost_of_choice(const ChoiceParts& parts, const Problem& problem, const DeviceProfile& device) {
  const Request request{problem.op, problem.fields.data(), problem.operands, &device};
  if (!parts.recipe) return cost_of_kernel(parts.kernels.front(), request);
  if (first_failing(*parts.recipe, request) != kAllHold) return std::nullopt;
  double sum = 0;
  Step step;
  for (size_t i = 0; i < parts.kernels.size(); ++i) {
    resolve(parts.recipe->steps[i], *parts.recipe, request, step);
    const auto cost = cost_of_kernel(parts.kernels[i], request_of(step, request));
    if (!cost) return std::nullopt;
    sum += *cost;
  }
  return sum;
}

}  // namespace qgen::selector
