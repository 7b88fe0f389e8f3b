// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What concerns more than one spec: the steps of recipes against the families whose kernels run them. A step is one
// kernel, never another recipe, so recipes cannot form a cycle.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/spec/field_type.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/parse_spec.h"

namespace qgen::spec {
namespace {

using expression::Type;

template <typename Items>
auto find_named(const Items& items, const std::string& name) -> const typename Items::value_type* {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name.value == name; });
  return found == items.end() ? nullptr : &*found;
}

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name.value);
  return names;
}

template <typename Pairs>
bool gives(const Pairs& pairs, const std::string& key) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first.value == key; });
}

// Whether every key of `pairs` is the name of an item.
template <typename Pairs, typename Items>
bool names_all(const Pairs& pairs, const Items& items) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return find_named(items, pair.first.value); });
}

// One step, against the family it names.
class StepChecker {
 public:
  StepChecker(const Spec& spec, const Recipe& recipe, const Step& step, const Spec& family, Diagnostics& errors)
      : spec_(spec), recipe_(recipe), step_(step), family_(family), errors_(errors) {}

  void run() {
    if (!family_.template_path) {
      report(step_.kernel.where, fmt::format("'{}' has no kernels: it is made of recipes only", family_.name.value),
             "an operator or kernel with a template");
      return;
    }
    for (const auto& [theirs, ours] : step_.operands) check_operand(theirs, ours);
    for (const auto& [theirs, text] : step_.problem) check_field(theirs, text);
    // A misspelt name is one fault, not also a name that is missing.
    if (names_all(step_.operands, family_.operands)) {
      for (const Operand& operand : family_.operands) check_is_given(operand);
    }
    if (names_all(step_.problem, family_.problem)) {
      for (const ProblemField& field : family_.problem) check_is_passed(field);
    }
    for (const auto& [parameter, value] : step_.with) check_with(parameter, value);
  }

 private:
  Diagnostic& report(const SourceLocation& where, std::string message, std::string expected = "",
                     std::string hint = "") {
    return errors_.emplace_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
  }

  template <typename Items>
  void report_unknown(const Located<std::string>& name, std::string_view kind, const Items& items) {
    const auto names = names_of(items);
    report(name.where, fmt::format("'{}' has no {} '{}'", family_.name.value, kind, name.value),
           names.empty() ? "" : fmt::format("one of {}", join_sorted(names)), suggest(name.value, names))
        .notes.push_back({family_.name.where, fmt::format("'{}' is declared here", family_.name.value)});
  }

  void check_operand(const Located<std::string>& theirs, const Located<std::string>& ours) {
    const Operand* operand = find_named(family_.operands, theirs.value);
    if (!operand) return report_unknown(theirs, "operand", family_.operands);
    const Operand* source = find_named(spec_.operands, ours.value);
    const Scratch* scratch = find_named(recipe_.scratch, ours.value);
    if (source && source->access == Access::read && operand->access != Access::read) {
      report(ours.where, fmt::format("'{}' writes '{}', and '{}' of '{}' is read only", family_.name.value,
                                     theirs.value, ours.value, spec_.name.value))
          .notes.push_back({source->name.where, fmt::format("'{}' is declared here", ours.value)});
    }
    if (scratch) check_scratch(*operand, ours.where, name(scratch->dtype));
  }

  void check_scratch(const Operand& operand, const SourceLocation& where, std::string_view dtype) {
    std::vector<std::string> takes = {operand.dtype.word};
    if (operand.dtype.is_parameter) {
      takes.clear();
      for (const auto& value : find_named(family_.parameters, operand.dtype.word)->values)
        takes.push_back(expression::to_text(value.value));
    }
    if (std::find(takes.begin(), takes.end(), dtype) != takes.end()) return;
    report(where, fmt::format("'{}' of '{}' takes no {}", operand.name.value, family_.name.value, dtype),
           fmt::format("one of {}", join_sorted(takes)))
        .notes.push_back({operand.name.where, fmt::format("'{}' is declared here", operand.name.value)});
  }

  void check_is_given(const Operand& operand) {
    if (operand.is_optional || gives(step_.operands, operand.name.value)) return;
    report(step_.kernel.where, fmt::format("this step gives '{}' no '{}'", family_.name.value, operand.name.value),
           fmt::format("'{}: <one of our operands, or scratch>' under 'operands'", operand.name.value))
        .notes.push_back({operand.name.where, fmt::format("'{}' is declared here", operand.name.value)});
  }

  void check_field(const Located<std::string>& theirs, const std::string& text) {
    const ProblemField* field = find_named(family_.problem, theirs.value);
    if (!field) return report_unknown(theirs, kProblemField, family_.problem);
    if (field->count != 1) {
      report(theirs.where,
             fmt::format("'{}' is an array, which is passed on only to an array of the same name", theirs.value));
      return;
    }
    const auto parsed = expression::parse(text, theirs.where, spec_.scope);
    const Type type = parsed ? parsed->type() : Type::text;
    const bool fits = type == Type::integer || (type == Type::real && field->kind == FieldKind::f32);
    if (!fits) {
      report(theirs.where, fmt::format("'{}' is given a {}", theirs.value, name(type)),
             fmt::format("a value for {}", to_text(FieldType{field->kind, 1})));
    }
  }

  // A field that the step does not name is ours of the same name and type.
  void check_is_passed(const ProblemField& field) {
    if (gives(step_.problem, field.name.value)) return;
    const ProblemField* ours = find_named(spec_.problem, field.name.value);
    const std::string type = to_text(FieldType{field.kind, field.count});
    if (!ours) {
      report(step_.kernel.where, fmt::format("this step gives '{}' no '{}'", family_.name.value, field.name.value),
             fmt::format("'{}: <expression>' under 'problem', or a problem field of this name", field.name.value))
          .notes.push_back({field.name.where, fmt::format("'{}' is declared here", field.name.value)});
    } else if (ours->kind != field.kind || ours->count != field.count) {
      report(step_.kernel.where, fmt::format("'{}' is {} here and {} in '{}'", field.name.value,
                                             to_text(FieldType{ours->kind, ours->count}), type, family_.name.value))
          .notes.push_back({field.name.where, fmt::format("'{}' is declared here", field.name.value)});
    }
  }

  void check_with(const Located<std::string>& parameter, const Located<expression::Value>& value) {
    const Axis* axis = find_named(family_.parameters, parameter.value);
    if (!axis) return report_unknown(parameter, "parameter", family_.parameters);
    std::vector<std::string> values;
    for (const auto& one : axis->values) {
      if (one.value == value.value) return;
      values.push_back(expression::to_text(one.value));
    }
    const std::string written = expression::to_text(value.value);
    report(value.where, fmt::format("'{}' is not a value of parameter '{}'", written, parameter.value),
           fmt::format("one of {}", join_sorted(values)), suggest(written, values))
        .notes.push_back({axis->name.where, fmt::format("'{}' is declared here", parameter.value)});
  }

  static constexpr std::string_view kProblemField = "problem field";

  const Spec& spec_;
  const Recipe& recipe_;
  const Step& step_;
  const Spec& family_;
  Diagnostics& errors_;
};

using Families = std::map<std::string, const Spec*, std::less<>>;

void check_step(const Spec& spec, const Recipe& recipe, const Step& step, const Families& families,
                Diagnostics& errors) {
  const auto family = families.find(step.kernel.value);
  if (family != families.end()) return StepChecker(spec, recipe, step, *family->second, errors).run();
  std::vector<std::string> names;
  for (const auto& [name, unused] : families) names.push_back(name);
  errors.push_back(make_error(step.kernel.where, fmt::format("no spec of this run is named '{}'", step.kernel.value),
                              "", suggest(step.kernel.value, names)));
}

}  // namespace

Diagnostics check_specs(const std::vector<Spec>& specs) {
  Diagnostics errors;
  Families families;
  for (const Spec& spec : specs) {
    const auto [first, is_new] = families.emplace(spec.name.value, &spec);
    if (is_new) continue;
    Diagnostic error = make_error(spec.name.where, fmt::format("'{}' is the name of two specs", spec.name.value));
    error.notes.push_back({first->second->name.where, "the other is here"});
    errors.push_back(std::move(error));
  }
  for (const Spec& spec : specs) {
    for (const Recipe& recipe : spec.recipes) {
      for (const Step& step : recipe.steps) check_step(spec, recipe, step, families, errors);
    }
  }
  return errors;
}

}  // namespace qgen::spec
