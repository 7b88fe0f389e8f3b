// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/quick_selector.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/selector/checks.h"
#include "runtime/selector/recipe.h"

namespace qgen {
namespace {

using selector::Candidate;
using selector::Request;
using selector::Step;

// A variant, and those of its specializations that the device can run.
struct Runnable {
  const KernelInfo* kernel;
  std::vector<uint32_t> rows;
};

// Variants that take the same operands, by id.
struct SameForms {
  std::vector<OperandForm> forms;
  std::vector<Runnable> kernels;
};

struct Family {
  std::once_flag is_known;
  std::vector<SameForms> groups;
  std::vector<bool> is_of_variant;  // of each of applies_when: whether all rows of a variant agree
};

bool reads_specialization(const ConditionInfo& condition, const OperatorInfo& op) {
  return std::ranges::any_of(condition.names, [&](uint16_t name) {
    return std::ranges::find(op.specialization_names, op.names[name].name) != op.specialization_names.end();
  });
}

std::vector<OperandForm> forms_of(const OperatorInfo& op, const KernelInfo& kernel) {
  std::vector<OperandForm> forms;
  for (size_t i = 0; i < op.operands.size(); ++i) forms.push_back(op.form(kernel.parameters, i));
  return forms;
}

std::vector<SameForms> groups_of(const OperatorInfo& op, const DeviceProfile& device) {
  const Request nothing{.op = &op, .device = &device};  // what is asked here reads no problem
  std::vector<SameForms> groups;
  for (const KernelInfo& kernel : op.kernels) {
    if (selector::check_module(device, selector::interface_of(nothing, kernel))) continue;
    Runnable runnable{&kernel, {}};
    for (uint32_t row = 0; row < op.specialization_count(); ++row) {
      if (!selector::check_device(nothing, kernel, row)) runnable.rows.push_back(row);
    }
    if (runnable.rows.empty()) continue;
    auto forms = forms_of(op, kernel);
    auto group = std::ranges::find(groups, forms, &SameForms::forms);
    if (group == groups.end()) group = groups.insert(group, {std::move(forms), {}});
    group->kernels.push_back(std::move(runnable));
  }
  return groups;
}

bool take(const SameForms& group, const Request& request) {
  for (size_t i = 0; i < group.forms.size(); ++i) {
    if (selector::check_operand(request, i, group.forms[i])) return false;
  }
  return true;
}

// A way to run the whole: one kernel, or one for each step of a recipe.
struct Way {
  const RecipeInfo* recipe = nullptr;
  std::vector<Candidate> kernels = {};
  double cost_us = 0;

  // As select() ranks them: of equals by id, and a recipe's is the shorter where a kernel's begins as it does.
  bool is_before(const Way& other) const {
    return other.kernels.empty() || cost_us < other.cost_us || (cost_us == other.cost_us && id() < other.id());
  }
  std::string_view id() const { return recipe ? recipe->id : kernels.front().kernel->id; }
};

}  // namespace

struct QuickSelector::Families {
  const DeviceProfile& device;
  std::unordered_map<const OperatorInfo*, Family> families;

  void add(const OperatorInfo& op) {
    families.try_emplace(&op);
    for (const RecipeInfo& recipe : op.recipes) {
      for (const StepInfo& step : recipe.steps) families.try_emplace(step.family);
    }
  }

  const Family& family_of(const OperatorInfo& op) {
    Family& family = families.at(&op);
    std::call_once(family.is_known, [&] {
      family.groups = groups_of(op, device);
      for (const ConditionInfo& condition : op.conditions) {
        family.is_of_variant.push_back(!reads_specialization(condition, op));
      }
    });
    return family;
  }

  // The cheapest that fits: of equals the first by id, then by row.
  std::optional<Candidate> cheapest(const Request& request, bool (*takes)(const void* parameters)) {
    const OperatorInfo& op = *request.op;
    const Family& family = family_of(op);
    Candidate best{.cost_us = std::numeric_limits<double>::infinity()};
    SelectionScope scope{request.problem, nullptr, nullptr, &device.numbers};
    for (const SameForms& group : family.groups) {
      if (!take(group, request)) continue;
      for (const auto& [kernel, rows] : group.kernels) {
        if (takes && !takes(kernel->parameters)) continue;
        scope.parameters = kernel->parameters;
        for (const uint32_t row : rows) {
          scope.specialization = op.specialization(row);
          const double cost = selector::cost_of(op, scope);
          if (cost > best.cost_us || (cost == best.cost_us && kernel->id >= best.kernel->id)) continue;
          if (const auto refusal = selector::check_problem(request, *kernel, row)) {
            if (refusal->cause == selector::Cause::condition && family.is_of_variant[refusal->index]) break;
          } else {
            best = {.kernel = kernel, .row = row, .cost_us = cost, .time_us = cost};
          }
        }
      }
    }
    if (!best.kernel) return std::nullopt;
    best.groups = selector::groups_of(op, scope_of(request, *best.kernel, best.row));
    return best;
  }
};

QuickSelector::QuickSelector(const DeviceProfile& device, const KernelLibrary& library)
    : device_(device), families_(new Families{device, {}}) {
  for (const OperatorInfo* op : library.operators()) families_->add(*op);
}
QuickSelector::~QuickSelector() = default;

std::optional<Choice> QuickSelector::best(const Problem& problem) const {
  if (!problem.op || !families_->families.contains(problem.op) || !selector::fault_of(problem).empty()) return {};
  const Request request{problem.op, problem.fields.data(), problem.operands, &device_};
  Way best, way;
  const auto add = [&](const Request& asked, bool (*takes)(const void* parameters)) {
    const auto candidate = families_->cheapest(asked, takes);
    if (!candidate) return false;
    way.kernels.push_back(*candidate);
    way.cost_us += candidate->cost_us;
    return true;
  };
  if (!problem.op->kernels.empty() && add(request, nullptr)) best = way;
  Step step;
  for (const RecipeInfo& recipe : problem.op->recipes) {
    if (selector::first_failing(recipe, request) != kAllHold) continue;
    way.recipe = &recipe;
    way.kernels.clear();
    way.cost_us = 0;
    const bool is_whole = std::ranges::all_of(recipe.steps, [&](const StepInfo& info) {
      selector::resolve(info, recipe, request, step);
      return add(selector::request_of(step, request), info.takes);
    });
    if (is_whole && way.is_before(best)) std::swap(way, best);
  }
  if (best.kernels.empty()) return {};
  Choice choice = best.recipe ? selector::choice_of(*best.recipe, request, best.kernels)
                              : selector::choice_of(problem, request, best.kernels.front());
  choice.problem = std::make_shared<const Problem>(problem);
  return choice;
}

}  // namespace qgen
