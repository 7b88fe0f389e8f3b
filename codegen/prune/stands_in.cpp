// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/prune/stands_in.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "codegen/spec/axes.h"

namespace qgen::prune {
namespace {

using emit::Family;
using emit::Kernel;
using expression::Value;
using spec::Spec;

// What every device of Vulkan has at least.
constexpr std::array<uint32_t, 3> kWorkgroup = {128, 128, 64};
constexpr uint64_t kInvocations = 128;
constexpr uint32_t kSharedBytes = 16384, kPushConstantsBytes = 128;
constexpr size_t kBindings = 4;  // storage buffers, and as many images

// One specialization: what it needs of a device, and the conditions that neither always hold nor always fail.
struct Row {
  const reflect::Resources* resources;
  std::set<std::string> conditions;
};

struct Facts {
  std::vector<std::string> operands;  // dtype, storage and layout of each
  std::vector<bool> steps;            // of each step that names the family: whether it takes this variant
  FeatureMask needs = 0;
  uint32_t push_constants_bytes = 0;
  size_t buffers = 0, images = 0;
  uint8_t subgroup_size = 0;
  std::vector<Row> rows;  // without those that no problem fits
};

// The value of a parameter of the variant, as text.
std::string word_of(const Spec& spec, const expand::Variant& variant, const spec::Choice& choice) {
  if (!choice.is_parameter) return choice.word;
  const auto axis = std::ranges::find(spec.parameters, choice.word, [](const spec::Axis& a) { return a.name.value; });
  return expression::to_text(variant.values[static_cast<size_t>(axis - spec.parameters.begin())]);
}

std::vector<std::string> operands_of(const Spec& spec, const expand::Variant& variant) {
  std::vector<std::string> forms;
  for (const spec::Operand& operand : spec.operands) {
    forms.push_back(word_of(spec, variant, operand.dtype) + " " + word_of(spec, variant, operand.storage) + " " +
                    (operand.layout ? word_of(spec, variant, *operand.layout) : ""));
  }
  return forms;
}

bool takes(const spec::Step& step, const Spec& spec, const expand::Variant& variant) {
  return std::ranges::all_of(step.with, [&](const auto& with) {
    const auto axis =
        std::ranges::find(spec.parameters, with.first.value, [](const spec::Axis& a) { return a.name.value; });
    return axis != spec.parameters.end() &&
           variant.values[static_cast<size_t>(axis - spec.parameters.begin())] == with.second.value;
  });
}

std::vector<bool> steps_of(const Spec& spec, const expand::Variant& variant, std::span<const Family> families) {
  std::vector<bool> taken;
  for (const Family& family : families) {
    for (const spec::Recipe& recipe : family.spec->recipes) {
      for (const spec::Step& step : recipe.steps) {
        if (step.kernel.value == spec.name.value) taken.push_back(takes(step, spec, variant));
      }
    }
  }
  return taken;
}

// Nullopt: one of them fails whatever the problem is.
std::optional<std::set<std::string>> conditions_of(const Spec& spec, std::span<const std::optional<Value>> values) {
  std::set<std::string> texts;
  for (const auto* conditions : {&spec.applies_when, &spec.require_device}) {
    for (const spec::Condition& condition : *conditions) {
      const auto rest = expression::with_values(condition.expression, values);
      const auto value = expression::value_of(rest);
      if (value && *value == Value(false)) return std::nullopt;
      if (!value) texts.insert(expression::to_text(rest));
    }
  }
  return texts;
}

std::vector<Row> rows_of(const Spec& spec, const Kernel& kernel) {
  std::vector<std::optional<Value>> values(spec.scope.symbols().size());
  std::ranges::copy(kernel.variant.values, values.begin());
  const auto specializations = emit::specialization_rows(spec);
  std::vector<Row> rows;
  for (size_t r = 0; r < specializations.size(); ++r) {
    for (size_t i = 0; i < specializations[r].size(); ++i) {
      values[spec.parameters.size() + i] = Integer(int64_t{specializations[r][i]});
    }
    if (auto conditions = conditions_of(spec, values)) rows.push_back({&kernel.resources[r], *std::move(conditions)});
  }
  return rows;
}

size_t count(const reflect::Interface& interface, BindingKind kind) {
  return static_cast<size_t>(std::ranges::count(interface.bindings, kind, &reflect::Binding::kind));
}

Facts facts_of(const Spec& spec, const Kernel& kernel, std::span<const Family> families) {
  return {.operands = operands_of(spec, kernel.variant),
          .steps = steps_of(spec, kernel.variant, families),
          .needs = kernel.interface.needs,
          .push_constants_bytes = kernel.interface.push_constants_bytes,
          .buffers = count(kernel.interface, BindingKind::storage_buffer),
          .images = count(kernel.interface, BindingKind::storage_image),
          .subgroup_size = kernel.variant.subgroup_size,
          .rows = rows_of(spec, kernel)};
}

uint64_t invocations(const reflect::Resources& resources) {
  return uint64_t{resources.workgroup[0]} * resources.workgroup[1] * resources.workgroup[2];
}

bool needs_no_more(const Row& row, const Row& other) {
  const reflect::Resources& a = *row.resources;
  const reflect::Resources& b = *other.resources;
  for (size_t d = 0; d < a.workgroup.size(); ++d) {
    if (a.workgroup[d] > std::max(b.workgroup[d], kWorkgroup[d])) return false;
  }
  return invocations(a) <= std::max(invocations(b), kInvocations) &&
         a.shared_bytes <= std::max(b.shared_bytes, kSharedBytes) &&
         std::ranges::all_of(a.cooperative_matrices,
                             [&](const CooperativeMatrixShape& shape) {
                               return std::ranges::find(b.cooperative_matrices, shape) != b.cooperative_matrices.end();
                             }) &&
         std::ranges::includes(other.conditions, row.conditions);
}

bool stands_in(const Facts& one, const Facts& other) {
  if (one.operands != other.operands || (one.needs & ~other.needs) != 0) return false;
  if (one.push_constants_bytes > std::max(other.push_constants_bytes, kPushConstantsBytes)) return false;
  if (one.buffers > std::max(other.buffers, kBindings) || one.images > std::max(other.images, kBindings)) return false;
  if (one.subgroup_size != 0 && one.subgroup_size != other.subgroup_size) return false;
  for (size_t i = 0; i < one.steps.size(); ++i) {
    if (other.steps[i] && !one.steps[i]) return false;
  }
  return std::ranges::all_of(other.rows, [&](const Row& row) {
    return std::ranges::any_of(one.rows, [&](const Row& ours) { return needs_no_more(ours, row); });
  });
}

}  // namespace

std::vector<std::vector<bool>> stand_ins(const Family& family, std::span<const Family> families) {
  std::vector<Facts> facts;
  for (const Kernel& kernel : family.kernels) facts.push_back(facts_of(*family.spec, kernel, families));
  std::vector<std::vector<bool>> result(facts.size(), std::vector<bool>(facts.size()));
  for (size_t u = 0; u < facts.size(); ++u) {
    for (size_t v = 0; v < facts.size(); ++v) result[u][v] = u == v || stands_in(facts[u], facts[v]);
  }
  return result;
}

}  // namespace qgen::prune
