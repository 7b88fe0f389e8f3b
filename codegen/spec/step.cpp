// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds the values that a recipe's step passes to its kernels: its definition, else the recipe's, else the operator's
// of the same name.
#include <algorithm>

#include "codegen/spec/spec.h"
#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

template <typename Items>
bool has(const Items& items, std::string_view name) {
  return std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.name.value == name; });
}

}  // namespace

std::string_view source_of(const Spec& spec, const Recipe& recipe, const Step& step, std::string_view operand) {
  const auto* of_step = said_of(step.operands, operand);
  if (const auto* said = of_step ? of_step : said_of(recipe.bind, operand)) {
    return said->second.value == kNoOperand ? std::string_view() : said->second.value;
  }
  return has(spec.operands, operand) || has(recipe.scratch, operand) ? operand : std::string_view();
}

std::string_view layout_seen(const Recipe& recipe, const Step& step, std::string_view operand) {
  const auto* of_step = said_of(step.seen_as, operand);
  const auto* said = of_step ? of_step : said_of(recipe.seen_as, operand);
  return said ? said->second.value : std::string_view();
}

std::string_view expression_of(const Spec& spec, const Step& step, const ProblemField& field) {
  const std::string& name = field.name.value;
  if (const auto* said = said_of(step.problem, name)) return said->second.text;
  const bool is_defined = spec.scope.find_definition(name) && !spec.hidden.contains(name);
  if (has(spec.problem, name) || is_defined) return name;
  return field.otherwise ? std::string_view(field.otherwise->value) : std::string_view();
}

bool writes(const Spec& spec, const Recipe& recipe, const Step& step, const Spec& family, std::string_view scratch) {
  return std::ranges::any_of(family.operands, [&](const Operand& operand) {
    return operand.access != Access::read && source_of(spec, recipe, step, operand.name.value) == scratch;
  });
}

bool is_counter(const Spec& spec, const Recipe& recipe, const Step& step, const Spec& family) {
  return std::ranges::any_of(recipe.steps, [&](const Step& other) {
    return other.indirect && writes(spec, recipe, step, family, other.indirect->value);
  });
}

}  // namespace qgen::spec
