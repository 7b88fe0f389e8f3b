// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Passes over the tree, each of which relies on the previous one: its shape (check_shape), its fragments (merge), its
// declarations, whose names make the scope, and last its expressions.
#include "codegen/spec/parse_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/expression/terms.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/device_names.h"
#include "codegen/spec/field_type.h"
#include "codegen/spec/fragments.h"
#include "codegen/spec/keys.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/part_names.h"
#include "codegen/spec/range.h"
#include "codegen/spec/read_signature.h"
#include "codegen/spec/words.h"
#include "common/number.h"

namespace qgen::spec {
namespace {

using expression::Expression;
using expression::Type;
using expression::Value;

Located<std::string> located(const YamlNode& node) { return {node.text, node.where}; }

std::optional<Integer> parse_integer(std::string_view text) {
  const auto value = read_number<int64_t>(text);
  return value ? std::optional(Integer(*value)) : std::nullopt;
}

// A quoted value is a word.
Value parse_value(const YamlNode& node) {
  if (node.is_plain && (node.text == "true" || node.text == "false")) return node.text == "true";
  const auto integer = node.is_plain ? parse_integer(node.text) : std::nullopt;
  return integer ? Value(*integer) : Value(expression::Word{node.text});
}

Access parse_access(std::string_view word) {
  if (word == "read") return Access::read;
  return word == "write" ? Access::write : Access::read_write;
}

class SpecParser {
 public:
  // `names`: those of the merged spec's parts.
  SpecParser(const Fragments& fragments, const Fragments::Merged& merged, PartNames names, const std::string& file)
      : fragments_(fragments), root_(merged.root), parts_(merged.parts), names_(std::move(names)) {
    spec_.file = file;
    spec_.uses = merged.uses;
    spec_.hidden = names_.hidden;
  }

  Result<Spec> run() {
    read_head();
    for (const YamlEntry& entry : entries(root_, "operands")) spec_.operands.push_back(operand(entry));
    for (const YamlEntry& entry : entries(root_, "attributes")) spec_.attributes.push_back(read_attribute(entry));
    for (const YamlEntry& entry : entries(root_, "operators")) spec_.operators.push_back(read_public_operator(entry));
    for (const YamlEntry& entry : entries(root_, "problem")) spec_.problem.push_back(field(entry));
    for (const YamlEntry& entry : entries(root_, "parameters")) read_axis(entry, spec_.parameters);
    for (const YamlEntry& entry : entries(root_, "specialization")) read_axis(entry, spec_.specialization);
    for (const YamlEntry& entry : entries(root_, "constants")) spec_.constants.push_back({located(entry.key), {}});
    for (const YamlEntry& entry : entries(root_, "fit")) spec_.fit.push_back(fit_constant(entry));
    for (const YamlEntry& entry : entries(root_, "define")) spec_.definitions.push_back(located(entry.key));
    append(errors_, check_declarations(spec_));
    if (errors_.empty()) append(errors_, check_signature(spec_));
    if (!errors_.empty()) return take_errors();  // their names would be reported again by every expression

    make_scope();
    if (!errors_.empty()) return take_errors();
    read_expressions();
    for (const YamlEntry& entry : entries(root_, "recipes")) spec_.recipes.push_back(recipe(entry));
    if (errors_.empty()) append(errors_, check_uses(spec_));
    if (!errors_.empty()) return take_errors();
    return std::move(spec_);
  }

 private:
  static const std::vector<YamlEntry>& entries(const YamlNode& node, std::string_view key) {
    static const std::vector<YamlEntry> kNone;
    const YamlEntry* entry = node.find(key);
    return entry ? entry->value.entries : kNone;
  }
  static const std::vector<YamlNode>& items(const YamlNode& node, std::string_view key) {
    static const std::vector<YamlNode> kNone;
    const YamlEntry* entry = node.find(key);
    return entry ? entry->value.items : kNone;
  }
  static const YamlNode* value(const YamlNode& node, std::string_view key) {
    const YamlEntry* entry = node.find(key);
    return entry ? &entry->value : nullptr;
  }

  Diagnostics take_errors() { return with_uses(std::move(errors_), spec_); }

  void report(const SourceLocation& where, std::string message, std::string expected = "", std::string hint = "") {
    errors_.push_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
  }

  // ---- declarations

  void read_head() {
    const YamlNode* as_operator = value(root_, "operator");
    const YamlNode* as_kernel = value(root_, "kernel");
    if (as_operator && as_kernel) report(as_kernel->where, "a spec is an operator or a kernel, not both");
    if (!as_operator && !as_kernel)
      report(root_.where, "the spec has no 'operator'", "the operator's name, equal to the file's");
    const YamlNode* name = as_operator ? as_operator : as_kernel;
    if (name) spec_.name = located(*name);
    spec_.is_internal = as_kernel != nullptr;
    if (const YamlNode* summary = value(root_, "summary")) spec_.summary = without_line_end(summary->text);
    if (const YamlNode* path = value(root_, "template")) spec_.template_path = located(*path);
    if (const YamlNode* target = value(root_, "target")) spec_.target = find_target(target->text);
    if (!root_.find("operands")) report(root_.where, "the spec has no 'operands'", "tensors, in binding order");
    read_template_rules();
    if (const YamlEntry* verify = root_.find("verify")) spec_.verify = read_verify(verify->value);
  }

  // Sections about this spec's kernels need their template.
  void read_template_rules() {
    if (spec_.template_path) {
      if (!root_.find("grid"))
        report(root_.where, "the spec has no 'grid'", "three expressions: workgroups in x, y and z");
      return;
    }
    if (!root_.find("recipes")) {
      report(root_.where, "the spec has no 'template'", "the GLSL template, relative to the template root",
             "an operator without one is made of recipes only");
      return;
    }
    for (std::string_view key : {"specialization", "constants", "fit", "require", "applies_when", "require_device",
                                 "rarely_best", "subgroup_size", "target", "grid", "cost"}) {
      const YamlEntry* entry = root_.find(key);
      if (entry)
        report(entry->key.where, fmt::format("'{}' needs a 'template': this operator is made of recipes only", key));
    }
  }

  Verify read_verify(const YamlNode& node) const {
    const YamlNode* reference = value(node, "reference");
    Verify verify{.reference = reference ? located(*reference) : spec_.name};
    const YamlNode* tolerance = value(node, "tolerance");
    if (!tolerance) return verify;
    verify.tolerance = read_tolerance(*tolerance);
    if (const YamlNode* f16 = value(*tolerance, "f16")) verify.tolerance_f16 = read_tolerance(*f16);
    if (const YamlNode* computed = value(*tolerance, "computed")) verify.computed = computed->text;
    if (const YamlNode* why = value(*tolerance, "why")) verify.why = why->text;
    return verify;
  }

  static Tolerance read_tolerance(const YamlNode& node) {
    const auto number = [&](std::string_view key) {
      const YamlNode* written = value(node, key);
      return written ? parse_bound(written->text).value_or(0) : 0;
    };
    return {.abs = number("abs"), .rel = number("rel")};
  }

  // "half_product_times.step_us", by the name that the file has for it.
  FitConstant fit_constant(const YamlEntry& entry) const {
    const auto text = [&](std::string_view key) { return std::string(value(entry.value, key)->text); };
    const bool is_told = entry.value.kind == YamlNode::Kind::map;
    FitConstant constant{located(entry.key), 0, label_of(entry.key), {}, {}};
    constant.value = parse_bound(is_told ? text("value") : entry.value.text).value_or(0);
    if (is_told) {
      constant.unit = text("unit");
      constant.help = text("help");
    }
    return constant;
  }

  std::string label_of(const YamlNode& constant) const {
    const expression::Names& names = names_.of_part[constant.part];
    const auto name = std::ranges::find_if(names, [&](const auto& known) { return known.second == constant.text; });
    return fmt::format("{}.{}", stem(constant.where.file), name->first);
  }

  // `$name` is a parameter, or a definition that is a word, which then stands here.
  Choice choice(const YamlNode& node) {
    if (!node.text.starts_with('$')) return {node.text, false, node.where};
    const std::string own_name = node.text.substr(1);
    const expression::Names& names = names_.of_part[node.part];
    const auto known = names.find(own_name);
    if (known == names.end() && report_missing(node.part, own_name)) return {own_name, true, node.where};
    const std::string name = known == names.end() ? own_name : known->second;
    for (const YamlEntry& entry : entries(root_, "define")) {
      if (entry.key.text == name) return {entry.value.text, false, entry.value.where};
    }
    return {name, true, node.where};
  }

  Operand operand(const YamlEntry& entry) {
    const YamlNode& node = entry.value;
    const YamlNode* storage = value(node, "storage");
    const YamlNode* layout = value(node, "layout");
    const YamlNode* optional = value(node, "optional");
    Operand operand;
    operand.name = located(entry.key);
    operand.access = parse_access(value(node, "access")->text);
    operand.is_optional = optional && optional->text == "true";
    operand.dtype = choice(*value(node, "dtype"));
    operand.storage = storage ? choice(*storage) : Choice{std::string(name(Storage::buffer)), false, entry.key.where};
    if (layout) operand.layout = choice(*layout);
    for (const YamlNode& input : items(node, "in_place")) operand.in_place.push_back(located(input));
    read_signature_of(node, operand);
    return operand;
  }

  ProblemField field(const YamlEntry& entry) const {
    const YamlNode& node = entry.value;
    const YamlNode* given_type = value(node, "type");
    const YamlNode* otherwise = value(node, "default");
    ProblemField field{.name = located(entry.key), .fragment = parts_[entry.key.part].fragment};
    if (otherwise) field.otherwise = located(*otherwise);
    if (node.kind == YamlNode::Kind::map && !given_type) {
      field.word_set = read_word_set(entry);
      field.words = read_words(node);
    } else {
      const FieldType type = *parse_field_type(given_type ? given_type->text : node.text);
      field.kind = type.kind;
      field.count = type.count;
    }
    return field;
  }

  // check_shape guarantees that the values are all single, or all records with the fields of the first.
  static void read_axis(const YamlEntry& entry, std::vector<Axis>& axes) {
    const auto& items = entry.value.items;
    if (items.front().kind == YamlNode::Kind::scalar) {
      Axis& axis = axes.emplace_back(Axis{located(entry.key)});
      for (const YamlNode& item : items) add_value(axis, item);
      return;
    }
    for (const YamlEntry& field : items.front().entries) {
      Axis& axis = axes.emplace_back(Axis{located(entry.key), entry.key.text});
      axis.name.value += '.' + field.key.text;
      for (const YamlNode& record : items) {
        add_value(axis, record.find(field.key.text)->value);
        axis.record_places.push_back(record.where);
      }
    }
  }

  static void add_value(Axis& axis, const YamlNode& node) {
    axis.values.push_back({parse_value(node), node.where});
    axis.type = expression::type_of(axis.values.front().value);
  }

  // ---- the scope

  void make_scope() {
    if (spec_.template_path) {  // otherwise they list the possible values of operands, and have no readable value
      for (const Axis& axis : spec_.parameters) add_axis(axis, kParameter);
    }
    for (const Axis& axis : spec_.specialization) add_axis(axis, kSpecialization);
    for (const ProblemField& field : spec_.problem) {
      if (field.count != 1) continue;
      spec_.scope.add(expression::Symbol{field.name.value, type_of(field), texts_of(field.words), field.name.where,
                                         std::string(kProblem)});
    }
    for (const DeviceName& number : device_names()) {
      spec_.scope.add(
          expression::Symbol{fmt::format("device.{}", number.name), number.type, {}, {}, std::string(kDevice)});
    }
    for (const FitConstant& constant : spec_.fit) {
      spec_.scope.add(expression::Symbol{constant.name.value, Type::real, {}, constant.name.where, std::string(kFit)});
    }
    for (const YamlEntry& entry : entries(root_, "define")) {
      const auto wanted = is_word(entry.value) ? std::optional(Type::word) : std::nullopt;
      if (const auto meaning = parse(entry.value, wanted)) spec_.scope.define(entry.key.text, *meaning);
      else failed_.insert(entry.key.text);
    }
  }

  // A dtype, a storage or a layout: properties that an operand may get from a definition.
  bool is_word(const YamlNode& node) const {
    if (names_.of_part[node.part].contains(node.text)) return false;
    for (const auto& words : {dtype_words(), storage_words(), layout_words()}) {
      if (std::ranges::find(words, node.text) != words.end()) return true;
    }
    return false;
  }

  void add_axis(const Axis& axis, std::string_view kind) {
    spec_.scope.add(expression::Symbol{axis.name.value, axis.type, words_of(axis), axis.name.where, std::string(kind)});
  }

  // ---- expressions

  std::optional<Expression> parse(const YamlNode& node, std::optional<Type> wanted) {
    auto parsed = expression::parse(node.text, node.text_where, spec_.scope, wanted, &names_.of_part[node.part]);
    if (parsed) return *std::move(parsed);
    Diagnostics errors = parsed.error();
    std::erase_if(errors, [&](const Diagnostic& error) {
      return report_missing(node.part, unknown_name(error)) || has_failed(node.part, unknown_name(error));
    });
    for (Diagnostic& error : errors) {
      explain_arrays(error, node);
      explain_definitions(error);
      explain_parts(error, node.part);
    }
    append(errors_, std::move(errors));
    return std::nullopt;
  }

  // Whether it is a definition that has been reported.
  bool has_failed(size_t part, const std::string& name) const {
    const auto known = names_.of_part[part].find(name);
    return known != names_.of_part[part].end() && failed_.contains(known->second);
  }

  // Empty: the error is about something else.
  static std::string unknown_name(const Diagnostic& error) {
    constexpr std::string_view kBegin = "unknown name '";
    if (!error.message.starts_with(kBegin)) return "";
    return error.message.substr(kBegin.size(), error.message.size() - kBegin.size() - 1);
  }

  // Whether it is a value that the fragment takes and nobody gives. That is reported once, at the use of the fragment.
  bool report_missing(size_t part, const std::string& name) {
    const auto missing = names_.missing.find({part, name.substr(0, name.find('.'))});
    if (missing == names_.missing.end()) return false;
    if (!told_.emplace(part, missing->first.second).second) return true;
    const YamlNode& take = missing->second->name;
    const std::string givers = fragments_.givers_of(take.text);
    Diagnostic error = make_error(
        parts_[part].where, fmt::format("{} takes '{}', which nobody gives", parts_[part].fragment, take.text),
        fmt::format("{{{}: {{{}: <expression>}}}}, or a name of the spec", parts_[part].fragment, take.text),
        givers.empty() ? "" : fmt::format("fragments that have it: {}", givers));
    error.notes.push_back({take.where, fmt::format("'{}' is described here", take.text)});
    errors_.push_back(std::move(error));
    return true;
  }

  // A name that another part of the spec has.
  void explain_parts(Diagnostic& error, size_t part) const {
    const std::string name = unknown_name(error);
    if (name.empty()) return;
    for (size_t other = 0; other < parts_.size(); ++other) {
      if (other == part || !names_.of_part[other].contains(name)) continue;
      if (part != 0) {
        error.message = fmt::format("fragment '{}' does not take '{}'", parts_[part].fragment, name);
        error.hint = fmt::format("write '{}: <what it is>' under 'takes'", name);
      } else {
        error.message = fmt::format("'{}' is private to fragment '{}'", name, parts_[other].fragment);
        error.hint = fmt::format("write it under 'gives' of '{}'", parts_[other].fragment);
      }
      error.expected.clear();
      return;
    }
  }

  // An array of the problem is the likeliest "unknown name" that is no slip.
  void explain_arrays(Diagnostic& error, const YamlNode& node) const {
    for (const ProblemField& field : spec_.problem) {
      if (field.count == 1 || error.message != fmt::format("unknown name '{}'", field.name.value)) continue;
      error.message = fmt::format("'{}' is an array, and expressions read single numbers", field.name.value);
      error.expected.clear();
      error.hint = "add a separate field for the number";
      error.notes.push_back({field.name.where, fmt::format("'{}' is declared here", field.name.value)});
    }
    if (error.where.line == 0) error.where = node.where;
  }

  void explain_definitions(Diagnostic& error) const {
    for (const Located<std::string>& definition : spec_.definitions) {
      if (spec_.hidden.contains(definition.value)) continue;
      if (error.message != fmt::format("unknown name '{}'", definition.value)) continue;
      error.message = fmt::format("'{}' is defined only below", definition.value);
      error.expected.clear();
      error.hint = "a definition can read only those above it";
      error.notes.push_back({definition.where, fmt::format("'{}' is defined here", definition.value)});
    }
  }

  std::vector<Condition> conditions(const YamlNode& node, std::string_view key) {
    std::vector<Condition> conditions;
    for (const YamlNode& item : items(node, key)) {
      if (auto parsed = parse(item, Type::boolean)) conditions.push_back({expression::short_text(*parsed), *parsed});
    }
    return conditions;
  }

  void read_expressions() {
    spec_.require = conditions(root_, "require");
    spec_.applies_when = conditions(root_, "applies_when");
    spec_.require_device = conditions(root_, "require_device");
    for (const YamlNode& item : items(root_, "rarely_best")) read_rarely_best(item);
    if (const YamlNode* size = value(root_, "subgroup_size")) spec_.subgroup_size = parse(*size, Type::integer);
    read_constants();
    read_grid();
    if (const YamlNode* cost = value(root_, "cost")) spec_.cost = parse(*cost, Type::real);
  }

  void read_rarely_best(const YamlNode& node) {
    const auto when = parse(*value(node, "when"), Type::boolean);
    if (!when) return;
    RarelyBest row{{expression::short_text(*when), *when}, {}, value(node, "because")->text};
    for (const YamlNode& name : items(node, "on")) row.on.push_back(located(name));
    spec_.rarely_best.push_back(std::move(row));
  }

  void read_constants() {
    const auto& written = entries(root_, "constants");
    for (size_t i = 0; i < written.size(); ++i) spec_.constants[i].value = parse(written[i].value, std::nullopt);
  }

  void read_grid() {
    const YamlEntry* grid = root_.find("grid");
    if (!grid) return;
    const auto& sides = grid->value.items;
    if (sides.size() != spec_.grid.size()) {
      report(grid->value.where, fmt::format("'grid' has {} expression{}", sides.size(), sides.size() == 1 ? "" : "s"),
             "three: workgroups in x, y and z; 1 for an unused dimension");
      return;
    }
    for (size_t i = 0; i < sides.size(); ++i) spec_.grid[i] = parse(sides[i], Type::integer);
  }

  // ---- recipes

  Recipe recipe(const YamlEntry& entry) {
    Recipe recipe;
    recipe.name = located(entry.key);
    if (!entry.value.find("steps"))
      report(entry.key.where, fmt::format("'{}' has no 'steps'", entry.key.text),
             "kernels, in the order in which they run");
    recipe.applies_when = conditions(entry.value, "applies_when");
    for (const YamlEntry& scratch : entries(entry.value, "scratch")) {
      auto elements = parse(*value(scratch.value, "elements"), Type::integer);
      const DType dtype = *find_dtype(value(scratch.value, "dtype")->text);
      if (elements) recipe.scratch.push_back({located(scratch.key), dtype, *std::move(elements)});
    }
    for (const YamlEntry& bound : entries(entry.value, "bind"))
      recipe.bind.emplace_back(located(bound.key), located(bound.value));
    for (const YamlEntry& seen : entries(entry.value, "seen_as"))
      recipe.seen_as.emplace_back(located(seen.key), located(seen.value));
    for (const YamlNode& item : items(entry.value, "steps")) recipe.steps.push_back(step(item));
    return recipe;
  }

  Step step(const YamlNode& node) {
    Step step;
    step.kernel = located(*value(node, "kernel"));
    for (const YamlEntry& entry : entries(node, "operands"))
      step.operands.emplace_back(located(entry.key), located(entry.value));
    for (const YamlEntry& entry : entries(node, "problem")) {
      const auto wanted = may_be_word(entry.value) ? std::optional(Type::word) : std::nullopt;
      if (const auto parsed = parse(entry.value, wanted)) step.problem.push_back(passed(entry, *parsed));
    }
    for (const YamlEntry& entry : entries(node, "with")) {
      step.with.emplace_back(located(entry.key), Located<Value>{parse_value(entry.value), entry.value.where});
    }
    for (const YamlEntry& entry : entries(node, "seen_as"))
      step.seen_as.emplace_back(located(entry.key), located(entry.value));
    if (const YamlNode* indirect = value(node, "indirect")) step.indirect = located(*indirect);
    return step;
  }

  // A bare name without a meaning here is a word of the step's field, or check_specs() reports it.
  bool may_be_word(const YamlNode& node) const {
    return !fault_of_name(node.text) && !names_.of_part[node.part].contains(node.text) &&
           !names_.missing.contains({node.part, node.text});
  }

  std::pair<Located<std::string>, Passed> passed(const YamlEntry& entry, const Expression& parsed) {
    append(errors_, check_recipe_expression(parsed, spec_.scope));
    return {located(entry.key), Passed{expression::to_text(parsed), parsed}};
  }

  const Fragments& fragments_;
  const YamlNode& root_;
  const std::vector<Part>& parts_;
  PartNames names_;
  std::set<std::pair<size_t, std::string>> told_;  // the missing names
  std::set<std::string> failed_;                   // definitions
  Spec spec_;
  Diagnostics errors_;
};

}  // namespace

namespace {

struct Root {
  YamlNode node;
  std::string file;

  std::string name() const {
    for (std::string_view key : {"operator", "kernel", "fragment"}) {
      if (const YamlEntry* name = node.find(key)) return name->value.text;
    }
    return "";
  }
};

// The section of a cost after the cost that the spec or fragment has.
void add_section(const YamlEntry& section, YamlNode& to, Diagnostics& errors) {
  const auto own = std::ranges::find(to.entries, section.key.text, [](const YamlEntry& e) { return e.key.text; });
  if (own == to.entries.end()) {
    to.entries.push_back(section);
  } else if (own->value.kind == YamlNode::Kind::list) {
    own->value.items.push_back(section.value);
  } else if (own->value.kind == YamlNode::Kind::map && section.value.kind == YamlNode::Kind::map) {
    for (const YamlEntry& entry : section.value.entries) add_section(entry, own->value, errors);
  } else {
    Diagnostic error = make_error(section.key.where, fmt::format("'{}' is given twice", section.key.text));
    error.notes.push_back({own->key.where, "first given here"});
    errors.push_back(std::move(error));
  }
}

// Moves a cost into its spec or fragment, unless that is broken.
Diagnostics add_cost(const Root& cost, std::vector<Root>& roots, const std::set<std::string, std::less<>>& broken) {
  const YamlNode& name = cost.node.find(kCostOf)->value;
  if (stem(cost.file) != name.text) {
    return {make_error(name.where, fmt::format("the cost of '{}' is in a file named '{}'", name.text, stem(cost.file)),
                       fmt::format("'{}.cost.yaml'", name.text))};
  }
  const auto owner = std::ranges::find(roots, name.text, &Root::name);
  if (owner == roots.end()) {
    if (broken.contains(name.text)) return {};
    return {make_error(name.where, fmt::format("no spec or fragment of this run is named '{}'", name.text),
                       "the name of a file in the same folder")};
  }
  Diagnostics errors;
  for (const YamlEntry& section : cost.node.entries) {
    const bool is_of_spec = section.key.text != kCostOf && section.key.text != "measured";
    if (is_of_spec) add_section(section, owner->node, errors);
  }
  return errors;
}

}  // namespace

Result<std::vector<Spec>> parse_specs(const std::vector<SpecText>& files, UnusedFragments unused) {
  Diagnostics errors;
  Fragments fragments;
  std::vector<Root> all, costs, roots;
  std::set<std::string, std::less<>> broken;
  for (const SpecText& file : files) {
    auto root = read_yaml(file.text, file.file);
    Diagnostics faults = root ? check_shape(*root) : root.error();
    if (faults.empty()) (is_cost(*root) ? costs : all).push_back({*std::move(root), file.file});
    else broken.insert(stem(file.file));
    append(errors, std::move(faults));
  }
  for (const Root& cost : costs) {
    Diagnostics faults = add_cost(cost, all, broken);
    if (!faults.empty()) broken.insert(cost.node.find(kCostOf)->value.text);
    append(errors, std::move(faults));
  }
  for (const std::string& name : broken) fragments.add_broken(name);
  for (Root& root : all) {
    if (broken.contains(root.name())) continue;  // without its cost it would be wrong in other ways
    if (is_fragment(root.node)) fragments.add(std::move(root.node), root.file);
    else roots.push_back(std::move(root));
  }
  append(errors, fragments.check_names());
  append(errors, fragments.check_interfaces());

  std::vector<Spec> specs;
  for (const auto& [root, file] : roots) {
    Fragments::Merged merged = fragments.merge(root);
    append(errors, merged.errors);
    if (merged.uses_broken || !merged.errors.empty()) continue;
    PartNames names = settle_names(merged.root, merged.parts);
    auto spec = SpecParser(fragments, merged, std::move(names), file).run();
    if (spec) specs.push_back(*std::move(spec));
    else append(errors, spec.error());
  }
  if (errors.empty() && unused == UnusedFragments::are_errors) errors = fragments.check_use();
  if (!errors.empty()) return gather(std::move(errors));
  return specs;
}

Result<Spec> parse_spec(std::string_view text, const std::string& file) {
  auto specs = parse_specs({{file, text}});
  if (!specs) return specs.error();
  if (specs->empty()) return Diagnostics{make_error({file, 1, 1}, "the file is a fragment, not a spec")};
  return std::move(specs->front());
}

Diagnostics with_uses(Diagnostics errors, const Spec& spec) {
  return with_uses(std::move(errors), spec.uses, spec.name.value);
}

}  // namespace qgen::spec
