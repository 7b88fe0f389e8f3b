// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/emit/fields_read.h"

#include <algorithm>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"

namespace qgen::emit {
namespace {

using expression::Expression;
using spec::Spec;
using FieldNames = std::set<std::string, std::less<>>;

void add(const Spec& spec, const Expression& expression, FieldNames& names) {
  for (const size_t index : expression::symbols_of(expression)) {
    const std::string& name = spec.scope.symbols()[index].name;
    if (source_of(spec, name) == Source::problem) names.insert(name);
  }
}

// The fields that the spec's own kernels read.
FieldNames read_by_kernels(const Spec& spec) {
  FieldNames names;
  for (const spec::Condition& condition : spec.applies_when) add(spec, condition.expression, names);
  for (const auto& side : spec.grid) {
    if (side) add(spec, *side, names);
  }
  if (spec.cost) add(spec, *spec.cost, names);
  return names;
}

// The fields of ours from which the step makes one of its family's.
void add_passed(const Spec& spec, const spec::Step& step, const spec::ProblemField& field, FieldNames& names) {
  const std::string_view text = spec::expression_of(spec, step, field);
  if (find_field(spec, text) != nullptr) {
    names.emplace(text);
  } else if (const auto* said = spec::said_of(step.problem, field.name.value)) {
    add(spec, said->second.expression, names);
  } else if (const Expression* definition = spec.scope.find_definition(text)) {
    add(spec, *definition, names);
  }
}

}  // namespace

std::set<std::string, std::less<>> fields_read(const Spec& spec, std::span<const Family> families) {
  FieldNames names = read_by_kernels(spec);
  for (const spec::Recipe& recipe : spec.recipes) {
    for (const spec::Condition& condition : recipe.applies_when) add(spec, condition.expression, names);
    for (const spec::Scratch& scratch : recipe.scratch) add(spec, scratch.elements, names);
    for (const spec::Step& step : recipe.steps) {
      const auto family = std::ranges::find(families, step.kernel.value,
                                            [](const Family& f) -> const std::string& { return f.spec->name.value; });
      if (family == families.end()) continue;  // print_recipes() reports it
      const FieldNames read = read_by_kernels(*family->spec);
      for (const spec::ProblemField& field : family->spec->problem) {
        if (read.contains(field.name.value)) add_passed(spec, step, field, names);
      }
    }
  }
  return names;
}

}  // namespace qgen::emit
