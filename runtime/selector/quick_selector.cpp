// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/quick_selector.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/selector/checks.h"
#include "runtime/selector/kernel_costs.h"
#include "runtime/selector/recipe.h"

namespace qgen {
namespace {

using selector::Candidate;
using selector::Request;
using selector::Step;

// A kernel: a variant with a row of its specializations.
struct Kernel {
  const KernelInfo* variant;
  uint32_t row;
};
// As select() ranks kernels of one cost.
bool is_before(const KernelInfo& variant, size_t row, const Candidate& other) {
  return !other.kernel || std::tuple(variant.id, row) < std::tuple(other.kernel->id, other.row);
}

// Kernels that take the same operands, those of equal cost together whatever the problem: classes, of which each ends
// where the next begins.
struct SameForms {
  std::vector<OperandForm> forms;
  std::vector<Kernel> kernels;                 // of one class by id, then row
  std::vector<uint32_t> ends;                  // of the classes
  std::optional<selector::KernelCosts> costs;  // of the classes, where those have steps
  size_t variants = 0;

  std::span<const Kernel> of_class(size_t index) const {
    const uint32_t begin = index == 0 ? 0 : ends[index - 1];
    return std::span(kernels).subspan(begin, ends[index] - begin);
  }
};

// The kernels of an operator that one step may run: all, or those that it takes.
struct FamilyKey {
  const OperatorInfo* op;
  bool (*takes)(const void* parameters);  // null: all
  friend bool operator==(const FamilyKey&, const FamilyKey&) = default;
};
struct HashOfFamily {
  size_t operator()(const FamilyKey& family) const {
    return std::hash<const void*>()(family.op) * 31 + std::hash<decltype(family.takes)>()(family.takes);
  }
};
struct Family {
  std::once_flag is_known;
  std::vector<SameForms> groups;
  std::vector<size_t> same, different;  // operands, by whether all groups take them alike
  std::vector<bool> is_of_variant;      // of each of applies_when: whether all rows of a variant agree
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

// Puts the kernels of a group into classes; without steps each is one of its own.
void divide(SameForms& group, const OperatorInfo& op, const DeviceProfile& device) {
  if (!op.staged_cost) {
    for (uint32_t end = 1; end <= group.kernels.size(); ++end) group.ends.push_back(end);
    return;
  }
  std::map<std::string, std::vector<Kernel>> classes;  // by the bytes of their terms
  std::vector<std::byte> terms(op.staged_cost->terms_bytes);
  for (const Kernel& kernel : group.kernels) {
    op.staged_cost->terms({nullptr, kernel.variant->parameters, op.specialization(kernel.row), &device.numbers},
                          terms.data());
    classes[std::string(reinterpret_cast<const char*>(terms.data()), terms.size())].push_back(kernel);
  }
  group.kernels.clear();
  group.costs.emplace(*op.staged_cost);
  for (const auto& [equal, kernels] : classes) {
    group.costs->add(std::as_bytes(std::span(equal)));
    group.kernels.insert(group.kernels.end(), kernels.begin(), kernels.end());
    group.ends.push_back(static_cast<uint32_t>(group.kernels.size()));
  }
}

// Of what the device can run at all.
std::vector<SameForms> groups_of(const FamilyKey& family, const DeviceProfile& device) {
  const OperatorInfo& op = *family.op;
  const Request nothing{.op = &op, .device = &device};  // what is asked here reads no problem
  std::vector<SameForms> groups;
  for (const KernelInfo& kernel : op.kernels) {
    if (family.takes && !family.takes(kernel.parameters)) continue;
    if (selector::check_module(device, op.interface_of(kernel))) continue;
    auto forms = forms_of(op, kernel);
    auto group = std::ranges::find(groups, forms, &SameForms::forms);
    if (group == groups.end()) group = groups.insert(group, {std::move(forms), {}, {}, {}});
    const size_t before = group->kernels.size();
    for (uint32_t row = 0; row < op.specialization_count(); ++row) {
      if (!selector::check_device(nothing, kernel, row)) group->kernels.push_back({&kernel, row});
    }
    group->variants += group->kernels.size() > before;
  }
  std::erase_if(groups, [](const SameForms& group) { return group.kernels.empty(); });
  for (SameForms& group : groups) divide(group, op, device);
  return groups;
}

// Of those operands.
bool take(const SameForms& group, std::span<const size_t> operands, const Request& request) {
  return std::ranges::none_of(
      operands, [&](size_t i) { return selector::check_operand(request, i, group.forms[i]).has_value(); });
}

// Of all classes.
std::span<const Real> costs_of(const OperatorInfo& op, const SameForms& group, SelectionScope scope,
                               selector::FoundCosts& found) {
  if (group.costs) {
    group.costs->find(scope, found);
    return found.costs;
  }
  found.costs.clear();
  for (const Kernel& kernel : group.kernels) {
    scope.parameters = kernel.variant->parameters;
    scope.specialization = op.specialization(kernel.row);
    found.costs.push_back(op.cost(scope));
  }
  return found.costs;
}

// The least of costs that compare: the others are mostly not looked at.
struct Least {
  size_t index = 0;
  double us = std::numeric_limits<double>::infinity();
  bool is_only = true;  // no other costs as much
};
Least least_of(std::span<const Real> costs) {
  Least least;
  for (size_t i = 0; i < costs.size(); ++i) {
    const double us = costs[i].value;
    if (us > least.us) continue;
    if (us < least.us) least = {i, us, true};
    else least.is_only = false;  // or is no number
  }
  return least;
}

// Whether a cost ranks behind `most_us`, by one comparison: most do. No number is the largest (ranked_cost()), and so
// behind nothing but less than that.
bool is_beyond(Real cost, double most_us) {
  return cost.value > most_us && most_us < std::numeric_limits<double>::max();
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
  std::unordered_map<FamilyKey, Family, HashOfFamily> families;

  void add(const OperatorInfo& op) {
    families.try_emplace(FamilyKey{&op, nullptr});
    for (const RecipeInfo& recipe : op.recipes) {
      for (const StepInfo& step : recipe.steps) families.try_emplace(FamilyKey{step.family, step.takes});
    }
  }

  const Family& family_of(const FamilyKey& key) {
    Family& family = families.at(key);
    std::call_once(family.is_known, [&] {
      family.groups = groups_of(key, device);
      for (size_t i = 0; i < key.op->operands.size(); ++i) {
        const bool is_same = std::ranges::all_of(
            family.groups, [&](const SameForms& group) { return group.forms[i] == family.groups.front().forms[i]; });
        (is_same ? family.same : family.different).push_back(i);
      }
      for (const ConditionInfo& condition : key.op->conditions) {
        family.is_of_variant.push_back(!reads_specialization(condition, *key.op));
      }
    });
    return family;
  }

  // The cheapest that fits, of those that cost `most_us` at most: of equals the first by id, then by row.
  std::optional<Candidate> cheapest(const Request& request, bool (*takes)(const void* parameters), double most_us,
                                    selector::FoundCosts& found) {
    const OperatorInfo& op = *request.op;
    const Family& family = family_of({&op, takes});
    if (family.groups.empty() || !take(family.groups.front(), family.same, request)) return std::nullopt;
    Candidate best{.cost_us = most_us};
    std::vector<bool> refused;  // variants, whatever the row
    size_t left = 0;            // of a group
    // The first of a class that fits is the best, if it is before what was.
    const auto look_into = [&](const SameForms& group, size_t index, Real of_class) {
      const double cost = selector::ranked_cost(of_class);
      if (cost > best.cost_us) return;
      for (const auto& [variant, row] : group.of_class(index)) {
        if (cost == best.cost_us && !is_before(*variant, row, best)) return;
        const auto place = static_cast<size_t>(variant - op.kernels.data());
        if (!refused.empty() && refused[place]) continue;
        const auto refusal = selector::check_problem(request, *variant, row);
        if (!refusal) {
          best = {.kernel = variant, .row = row, .cost_us = cost, .time_us = cost};
          return;
        }
        if (refusal->cause == selector::Cause::condition && family.is_of_variant[refusal->index]) {
          refused.resize(op.kernels.size());
          refused[place] = true;
          --left;
        }
      }
    };
    const SelectionScope scope{request.problem, nullptr, nullptr, &device.numbers};
    for (const SameForms& group : family.groups) {
      if (!take(group, family.different, request)) continue;
      left = group.variants;
      const auto costs = costs_of(op, group, scope, found);
      // The cheapest first: it mostly fits, and then no other is asked whether it does.
      const Least least = least_of(costs);
      look_into(group, least.index, costs[least.index]);
      if (least.is_only && best.cost_us <= least.us) continue;
      for (size_t i = 0; i < costs.size() && left > 0; ++i) {
        if (!is_beyond(costs[i], best.cost_us)) look_into(group, i, costs[i]);
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
  if (!problem.op || !families_->families.contains({problem.op, nullptr}) || !selector::fault_of(problem).empty())
    return {};
  const Request request{problem.op, problem.fields.data(), problem.operands, &device_};
  Way best{.cost_us = std::numeric_limits<double>::infinity()}, way;
  selector::FoundCosts found;
  const auto add = [&](const Request& asked, bool (*takes)(const void* parameters)) {
    // No cost is negative: a step that costs more than the best way is part of no better one.
    const auto candidate = families_->cheapest(asked, takes, best.cost_us, found);
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
