// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks across specs: the steps of recipes against the families whose kernels run them. A step is one kernel, never
// another recipe, so recipes cannot form a cycle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codegen/spec/axes.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/field_type.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/spec/type_names.h"

namespace qgen::spec {
namespace {

using expression::Type;

template <typename Items>
auto find_named(const Items& items, std::string_view name) -> const typename Items::value_type* {
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
    for (const auto& [theirs, ours] : step_.operands) {
      if (!find_named(family_.operands, theirs.value)) report_unknown(theirs, "operand", family_.operands);
    }
    for (const auto& [theirs, layout] : step_.seen_as) {
      if (!find_named(family_.operands, theirs.value)) report_unknown(theirs, "operand", family_.operands);
    }
    for (const auto& [theirs, text] : step_.problem) {
      if (!find_named(family_.problem, theirs.value)) report_unknown(theirs, "problem field", family_.problem);
    }
    // A misspelt name is one fault, not also a name that is missing.
    if (names_all(step_.operands, family_.operands)) {
      for (const Operand& operand : family_.operands) check_operand(operand);
    }
    if (names_all(step_.problem, family_.problem)) {
      for (const ProblemField& field : family_.problem) check_field(field);
    }
    for (const auto& [parameter, value] : step_.with) check_with(parameter, value);
    check_written();
  }

 private:
  Diagnostic& report(const SourceLocation& where, std::string message, std::string expected = "",
                     std::string hint = "") {
    return errors_.emplace_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
  }

  template <typename Items>
  void report_unknown(const Located<std::string>& name, std::string_view kind, const Items& items) {
    const auto names = names_of(items);
    report(name.where, fmt::format("'{}' has no {} '{}'", family_.name.value, kind, name.value), one_of(names),
           suggest(name.value, names))
        .notes.push_back({family_.name.where, fmt::format("'{}' is declared here", family_.name.value)});
  }

  void check_operand(const Operand& operand) {
    const std::string_view source = source_of(spec_, recipe_, step_, operand.name.value);
    if (source.empty()) return check_may_be_absent(operand);
    const SourceLocation& where = place_of(operand);
    const Operand* ours = find_named(spec_.operands, source);
    if (ours && ours->access == Access::read && operand.access != Access::read) {
      report(where, fmt::format("'{}' writes '{}', and '{}' of '{}' is read only", family_.name.value,
                                operand.name.value, source, spec_.name.value))
          .notes.push_back({ours->name.where, fmt::format("'{}' is declared here", source)});
    }
    if (const std::string_view seen = layout_seen(recipe_, step_, operand.name.value); !seen.empty())
      check_seen(operand, seen);
    const Scratch* scratch = find_named(recipe_.scratch, source);
    if (scratch) check_scratch(operand, where, name(scratch->dtype));
  }

  // Kernels declare operands `restrict`: a written operand shares no bytes, unless it may be in place of a read one.
  void check_written() {
    for (const Operand& written : family_.operands) {
      if (written.access == Access::read) continue;
      const std::string_view source = source_of(spec_, recipe_, step_, written.name.value);
      if (source.empty()) continue;
      for (const Operand& other : family_.operands) {
        const bool is_pair_of_outputs = other.access != Access::read && &other < &written;
        if (&other == &written || is_pair_of_outputs || may_lie_in(written, other)) continue;
        if (source_of(spec_, recipe_, step_, other.name.value) != source) continue;
        report(place_of(written),
               fmt::format("'{}' is both '{}' and '{}' of '{}', which writes '{}'", source, written.name.value,
                           other.name.value, family_.name.value, written.name.value),
               "a separate operand or scratch for the output")
            .notes.push_back({written.name.where, fmt::format("'{}' is declared here", written.name.value)});
      }
    }
  }

  void check_seen(const Operand& operand, std::string_view layout) {
    const auto* of_step = said_of(step_.seen_as, operand.name.value);
    const auto* said = of_step ? of_step : said_of(recipe_.seen_as, operand.name.value);
    const std::vector<std::string> takes =
        operand.layout ? words_of(family_, *operand.layout) : std::vector<std::string>();
    if (std::find(takes.begin(), takes.end(), layout) != takes.end()) return;
    report(said->second.where, fmt::format("'{}' of '{}' is never {}", operand.name.value, family_.name.value, layout),
           one_of(takes), suggest(layout, takes))
        .notes.push_back({operand.name.where, fmt::format("'{}' is declared here", operand.name.value)});
  }

  // Where the step or its recipe names the operand; without it, the step.
  const SourceLocation& place_of(const Operand& operand) const {
    const auto* of_step = said_of(step_.operands, operand.name.value);
    const auto* said = of_step ? of_step : said_of(recipe_.bind, operand.name.value);
    return said ? said->second.where : step_.kernel.where;
  }

  void check_scratch(const Operand& operand, const SourceLocation& where, std::string_view dtype) {
    const std::vector<std::string> takes = words_of(family_, operand.dtype);
    if (std::find(takes.begin(), takes.end(), dtype) != takes.end()) return;
    report(where, fmt::format("'{}' of '{}' does not accept {}", operand.name.value, family_.name.value, dtype),
           one_of(takes))
        .notes.push_back({operand.name.where, fmt::format("'{}' is declared here", operand.name.value)});
  }

  void check_may_be_absent(const Operand& operand) {
    if (operand.is_optional) return;
    report(place_of(operand), fmt::format("this step passes '{}' no '{}'", family_.name.value, operand.name.value),
           fmt::format("'{}: <one of our operands, or scratch>' under 'operands', or an operand of this name",
                       operand.name.value))
        .notes.push_back({operand.name.where, fmt::format("'{}' is declared here", operand.name.value)});
  }

  void check_field(const ProblemField& field) {
    if (field.name.value == kMostWorkgroups && is_counter(spec_, recipe_, step_, family_)) return;
    const std::string_view text = expression_of(spec_, step_, field);
    const ProblemField* ours = find_named(spec_.problem, text);
    const auto* said = said_of(step_.problem, field.name.value);
    if (text.empty()) return report_not_passed(field);
    if (!said && ours) return check_same_type(field, *ours);
    const SourceLocation& where = said ? said->first.where : step_.kernel.where;
    if (field.count != 1) {
      report(where,
             fmt::format("'{}' is an array, which is passed on only to an array of the same name", field.name.value));
      return;
    }
    check_fits(field, where, text);
  }

  void check_fits(const ProblemField& field, const SourceLocation& where, std::string_view text) {
    const auto* said = said_of(step_.problem, field.name.value);
    if (said && said->second.expression.type() == Type::word) return check_word(field, said->second);
    if (field.is_word() && field.otherwise && text == field.otherwise->value) return;
    if (field.is_word()) {
      report(where, fmt::format("the value of '{}' is not a word", field.name.value), one_of(texts_of(field.words)));
      return;
    }
    const auto parsed = expression::parse(text, where, spec_.scope);
    const Type type = parsed ? parsed->type() : Type::text;
    if (type == Type::integer || (type == Type::real && field.kind == FieldKind::f32)) return;
    report(where, fmt::format("'{}' is given a {}", field.name.value, name(type)),
           fmt::format("a value for {}", to_text(FieldType{field.kind, 1})));
  }

  // A word that stands for itself; or one of our fields, which has other words, if any.
  void check_word(const ProblemField& field, const Passed& passed) {
    const auto words = texts_of(field.words);
    const ProblemField* ours = find_named(spec_.problem, passed.text);
    if (ours ? ours->word_set == field.word_set : std::ranges::find(words, passed.text) != words.end()) return;
    const SourceLocation& where = passed.expression.where();
    if (!ours && !field.is_word()) return append(errors_, errors_of(passed.text, where));  // a misspelt name
    report(where, fmt::format("'{}' is not a value of '{}'", passed.text, field.name.value),
           field.is_word() ? one_of(words) : fmt::format("a value for {}", to_text(field)),
           suggest(passed.text, words));
  }

  Diagnostics errors_of(std::string_view text, const SourceLocation& where) const {
    const auto parsed = expression::parse(text, where, spec_.scope);
    return parsed ? Diagnostics() : parsed.error();
  }

  void report_not_passed(const ProblemField& field) {
    report(step_.kernel.where, fmt::format("this step passes '{}' no '{}'", family_.name.value, field.name.value),
           fmt::format("'{}: <expression>' under 'problem', or a problem field or definition of this name",
                       field.name.value))
        .notes.push_back({field.name.where, fmt::format("'{}' is declared here", field.name.value)});
  }

  void check_same_type(const ProblemField& field, const ProblemField& ours) {
    if (ours.kind == field.kind && ours.count == field.count && ours.word_set == field.word_set) return;
    report(step_.kernel.where, fmt::format("'{}' is {} here and {} in '{}'", field.name.value, to_text(ours),
                                           to_text(field), family_.name.value))
        .notes.push_back({field.name.where, fmt::format("'{}' is declared here", field.name.value)});
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
    report(value.where, fmt::format("'{}' is not a value of parameter '{}'", written, parameter.value), one_of(values),
           suggest(written, values))
        .notes.push_back({axis->name.where, fmt::format("'{}' is declared here", parameter.value)});
  }

  const Spec& spec_;
  const Recipe& recipe_;
  const Step& step_;
  const Spec& family_;
  Diagnostics& errors_;
};

using Families = std::map<std::string, const Spec*, std::less<>>;

const Spec* find_family(const Step& step, const Families& families, Diagnostics& errors) {
  const auto family = families.find(step.kernel.value);
  if (family != families.end()) return family->second;
  std::vector<std::string> names;
  for (const auto& [name, unused] : families) names.push_back(name);
  errors.push_back(make_error(step.kernel.where, fmt::format("no spec of this run is named '{}'", step.kernel.value),
                              "", suggest(step.kernel.value, names)));
  return nullptr;
}

using StepsOfFamilies = std::vector<std::pair<const Step*, const Spec*>>;

// The first of the steps that takes the scratch writes it: nothing is in it before. A step with other errors gets no
// further ones.
void check_scratch_is_written(const Spec& spec, const Recipe& recipe, const StepsOfFamilies& steps,
                              const Scratch& scratch, bool are_sound, Diagnostics& errors) {
  for (const auto& [step, family] : steps) {
    const Operand* reader = nullptr;
    bool is_written = false;
    for (const Operand& operand : family->operands) {
      if (source_of(spec, recipe, *step, operand.name.value) != scratch.name.value) continue;
      if (operand.access == Access::write) is_written = true;
      else if (!reader) reader = &operand;
    }
    if (is_written || (reader && !are_sound)) return;
    if (!reader) continue;
    const auto* said = said_of(step->operands, reader->name.value);
    errors.push_back(make_error(said ? said->second.where : step->kernel.where,
                                fmt::format("'{}' reads scratch '{}', which no step before it has written",
                                            step->kernel.value, scratch.name.value),
                                "a step that writes it first"));
    errors.back().notes.push_back({scratch.name.where, fmt::format("'{}' is declared here", scratch.name.value)});
    return;
  }
  errors.push_back(make_error(scratch.name.where, fmt::format("no step uses scratch '{}'", scratch.name.value)));
}

// An indirect step: an earlier one must count its workgroups, and those of no other step. The problem of that counter has
// a field for the largest number.
void check_indirect(const Spec& spec, const Recipe& recipe, const StepsOfFamilies& steps, Diagnostics& errors) {
  const auto report = [&](const SourceLocation& where, std::string message, std::string expected) {
    errors.push_back(make_error(where, std::move(message), std::move(expected)));
  };
  std::map<const Step*, const Step*> counted;  // of each counter, the step whose workgroups it counts
  for (const auto& [step, family] : steps) {
    if (!step->indirect) continue;
    const auto& [name, where] = *step->indirect;
    const Scratch* scratch = find_named(recipe.scratch, name);
    if (!scratch || scratch->dtype != DType::u32) {
      report(where, fmt::format("'{}' is no scratch of u32", name), "scratch of dtype u32 with 3 elements: x, y and z");
      continue;
    }
    const Step* counter = nullptr;
    const Spec* counters_family = nullptr;
    for (const auto& [other, others_family] : steps) {
      if (other == step) break;
      if (!writes(spec, recipe, *other, *others_family, name)) continue;
      counter = other;
      counters_family = others_family;
    }
    if (!counter) {
      report(where, fmt::format("no step before '{}' writes '{}'", step->kernel.value, name),
             "a step that counts the workgroups");
      continue;
    }
    const auto [first, is_first] = counted.emplace(counter, step);
    if (!is_first) {
      report(where,
             fmt::format("'{}' already counts the workgroups of an earlier step, '{}'", counter->kernel.value,
                         first->second->kernel.value),
             "a counter for each indirect step");
      continue;
    }
    const ProblemField* most = find_named(counters_family->problem, kMostWorkgroups);
    if (!most || most->kind != FieldKind::u32 || most->count != 1)
      report(where, fmt::format("'{}' counts workgroups, and has no '{}'", counter->kernel.value, kMostWorkgroups),
             fmt::format("'{}: u32' in its problem, which gets the number of workgroups of '{}'", kMostWorkgroups,
                         step->kernel.value));
    for (size_t i = 1; i < family->grid.size(); ++i) {
      if (!family->grid[i] || expression::to_text(*family->grid[i]) == "1") continue;
      report(where, fmt::format("the grid of '{}' has more than one dimension", step->kernel.value),
             "a kernel with a grid of one dimension: '[<expression>, 1, 1]'");
      break;
    }
  }
}

// With the output in the bytes of the input, a step that writes it must allow that, and no later step may read the input.
void check_in_place(const Spec& spec, const Recipe& recipe, const StepsOfFamilies& steps, const Operand& output,
                    std::string_view input, Diagnostics& errors) {
  const Step* writing = nullptr;
  for (const auto& [step, family] : steps) {
    const Operand *reader = nullptr, *writer = nullptr;
    for (const Operand& operand : family->operands) {
      const std::string_view source = source_of(spec, recipe, *step, operand.name.value);
      if (source == input) reader = &operand;
      if (source == output.name.value && operand.access != Access::read) writer = &operand;
    }
    const SourceLocation& where = step->kernel.where;
    if (reader && writing) {
      errors.push_back(make_error(
          where,
          fmt::format("'{}' reads '{}' after '{}' has written '{}'", step->kernel.value, input, writing->kernel.value,
                      output.name.value),
          fmt::format("no step that reads it, since '{}' may be written in place of '{}'", output.name.value, input)));
      return;
    }
    if (reader && writer && !may_lie_in(*writer, *reader)) {
      errors.push_back(make_error(where,
                                  fmt::format("'{}' cannot write '{}' in place of '{}', and the recipe's spec can",
                                              step->kernel.value, output.name.value, input),
                                  fmt::format("'in_place: [{}]' of its '{}'", reader->name.value, writer->name.value)));
      errors.back().notes.push_back({writer->name.where, fmt::format("'{}' is declared here", writer->name.value)});
      return;
    }
    if (writer) writing = step;
  }
}

void check_in_place(const Spec& spec, const Recipe& recipe, const StepsOfFamilies& steps, Diagnostics& errors) {
  for (const Operand& output : spec.operands) {
    for (const auto& input : output.in_place) check_in_place(spec, recipe, steps, output, input.value, errors);
  }
}

void check_recipe(const Spec& spec, const Recipe& recipe, const Families& families, Diagnostics& errors) {
  StepsOfFamilies steps;
  const size_t errors_before = errors.size();
  for (const Step& step : recipe.steps) {
    const Spec* family = find_family(step, families, errors);
    if (family == nullptr) return;
    StepChecker(spec, recipe, step, *family, errors).run();
    steps.emplace_back(&step, family);
  }
  for (const auto& [theirs, ours] : recipe.bind) {
    const bool is_taken = std::ranges::any_of(steps, [&, name = theirs.value](const auto& step) {
      return find_named(step.second->operands, name) && !said_of(step.first->operands, name);
    });
    if (!is_taken)
      errors.push_back(make_error(theirs.where,
                                  fmt::format("no step of '{}' takes this '{}'", recipe.name.value, theirs.value),
                                  "an operand of the steps' kernels that no step gives itself"));
  }
  for (const auto& [theirs, layout] : recipe.seen_as) {
    const bool is_taken = std::ranges::any_of(
        steps, [&, name = theirs.value](const auto& step) { return find_named(step.second->operands, name); });
    if (!is_taken)
      errors.push_back(
          make_error(theirs.where, fmt::format("no step of '{}' has a '{}'", recipe.name.value, theirs.value)));
  }
  const bool are_sound = errors.size() == errors_before;
  for (const Scratch& scratch : recipe.scratch)
    check_scratch_is_written(spec, recipe, steps, scratch, are_sound, errors);
  if (are_sound) check_in_place(spec, recipe, steps, errors);
  if (are_sound) check_indirect(spec, recipe, steps, errors);
}

// Words that go by one name are one enum in C++, in all specs of the run.
class WordSets {
 public:
  void add(const Spec& spec) {
    for (const Attribute& attribute : spec.attributes) {
      if (attribute.is_word()) add(spec, attribute.word_set, attribute.name.where, attribute.words);
    }
    for (const ProblemField& field : spec.problem) {
      if (field.is_word()) add(spec, field.word_set, field.name.where, field.words);
    }
  }

  Diagnostics take_errors() { return std::move(errors_); }

 private:
  struct Words {
    std::vector<std::string> words;
    SourceLocation where;  // whose they are
  };

  void add(const Spec& spec, const std::string& name, const SourceLocation& where,
           const std::vector<Located<std::string>>& located) {
    const auto words = texts_of(located);
    Diagnostics clash;
    if (const std::string type = pascal_case(name); is_generated_type(type) && !sets_.contains(name))
      clash.push_back(make_error(where,
                                 fmt::format("the words of '{}' are the enum {}, and generated code has a type "
                                             "of this name",
                                             name, type),
                                 "", "take another name, or give the words one by 'enum'"));
    types_.add({name, where}, clash);
    append(errors_, with_uses(std::move(clash), spec));
    const auto [first, is_new] = sets_.emplace(name, Words{words, where});
    if (is_new || first->second.words == words) return;
    Diagnostic error =
        make_error(where, fmt::format("the words of '{}' are {} here", name, fmt::join(words, ", ")),
                   fmt::format("{}", fmt::join(first->second.words, ", ")), "give other words another name by 'enum'");
    error.notes.push_back({first->second.where, "the others are here"});
    append(errors_, with_uses({std::move(error)}, spec));
  }

  std::map<std::string, Words, std::less<>> sets_;
  TypeNames types_;
  Diagnostics errors_;
};

// Fragments that declare problem fields have a struct and a header in C++.
Diagnostics check_structs_of_fields(const std::vector<Spec>& specs) {
  Diagnostics errors;
  TypeNames types;
  std::map<std::string, SourceLocation> headers;
  for (const Spec& spec : specs) {
    for (const ProblemField& field : spec.problem) {
      if (field.fragment.empty()) continue;
      const auto use = std::ranges::find(spec.uses, field.fragment, [](const Use& u) { return u.fragment.value; });
      types.add(use->fragment, errors);
      headers.emplace(field.fragment + "_fields", use->fragment.where);
    }
  }
  for (const Spec& spec : specs) {
    const auto header = headers.find(spec.name.value);
    if (header == headers.end()) continue;
    errors.push_back(make_error(spec.name.where,
                                fmt::format("'{}.h' is the header of a fragment's problem fields", spec.name.value), "",
                                "take another name"));
    errors.back().notes.push_back({header->second, "the fragment is used here"});
  }
  return errors;
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
  append(errors, check_signatures(specs));
  WordSets words;
  for (const Spec& spec : specs) words.add(spec);
  append(errors, words.take_errors());
  append(errors, check_structs_of_fields(specs));
  for (const Spec& spec : specs) {
    Diagnostics faults;
    for (const Recipe& recipe : spec.recipes) check_recipe(spec, recipe, families, faults);
    append(errors, with_uses(std::move(faults), spec));
  }
  return gather(std::move(errors));
}

}  // namespace qgen::spec
