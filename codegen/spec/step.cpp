// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>

#include "codegen/spec/spec.h"

namespace qgen::spec {
namespace {

template <typename Items>
bool has(const Items& items, std::string_view name) {
  return std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.name.value == name; });
}

}  // namespace

std::string_view source_of(const Spec& spec, const Recipe& recipe, const Step& step, std::string_view operand) {
  for (const auto& [theirs, ours] : step.operands) {
    if (theirs.value == operand) return ours.value == kNoOperand ? std::string_view() : ours.value;
  }
  return has(spec.operands, operand) || has(recipe.scratch, operand) ? operand : std::string_view();
}

std::string_view expression_of(const Spec& spec, const Step& step, std::string_view field) {
  for (const auto& [theirs, text] : step.problem) {
    if (theirs.value == field) return text;
  }
  return has(spec.problem, field) || spec.scope.find_definition(field) ? field : std::string_view();
}

}  // namespace qgen::spec
