// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A spec as YAML in one form: keys in the order of the language, an expression a line, nothing that the defaults say.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/spec/axes.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/field_type.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/spec/signature.h"
#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

// Double quotes, in which YAML lets every text stand.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') result += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f')
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else result += c;
  }
  return result + '"';
}

std::string_view name(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::read_write: return "read_write";
  }
  return "?";
}

std::string to_text(const Choice& choice) { return (choice.is_parameter ? "$" : "") + choice.word; }

// "- " begins with a sign that YAML keeps for itself where the expression begins with '-'.
std::string plain(const expression::Expression& expression) {
  const std::string text = expression::to_text(expression);
  return text.starts_with('-') ? quoted(text) : text;
}

// ---- what callers see

std::string texts(const std::vector<Located<std::string>>& words) {
  return fmt::format("[{}]", fmt::join(texts_of(words), ", "));
}

std::string shapes_text(const std::vector<ShapePattern>& shapes) {
  std::vector<std::string> all;
  for (const ShapePattern& shape : shapes) all.push_back(to_text(shape));
  return all.size() == 1 ? all[0] : fmt::format("[{}]", fmt::join(all, ", "));
}

std::string signature_of(const Operand& operand) {
  std::string text;
  if (!operand.shapes.empty()) text += ", shape: " + shapes_text(operand.shapes);
  if (operand.is_weight) text += ", weight: true";
  if (operand.has_view) text += ", view: true";
  if (operand.row_sums_of) text += ", row_sums_of: " + operand.row_sums_of->value;
  if (operand.like) text += ", like: " + operand.like->value;
  if (!operand.help.empty()) text += ", help: " + quoted(operand.help);
  return text;
}

std::vector<std::string> parts_of(const Attribute& attribute) {
  std::vector<std::string> parts;
  const bool is_word = attribute.kind == AttributeInfo::Kind::word;
  if (!is_word) parts.push_back(fmt::format("type: {}", to_word(attribute.kind)));
  if (!attribute.words.empty()) parts.push_back("words: " + texts(attribute.words));
  if (is_word && attribute.word_set != attribute.name.value) parts.push_back("enum: " + attribute.word_set);
  if (attribute.operand) parts.push_back("of: " + attribute.operand->value);
  if (attribute.range) parts.push_back("range: " + attribute.range->spec);
  if (attribute.otherwise) {
    const bool is_text = attribute.otherwise->value.starts_with('(');
    parts.push_back("default: " + (is_text ? quoted(attribute.otherwise->value) : attribute.otherwise->value));
  }
  if (!attribute.unit.empty()) parts.push_back("unit: " + quoted(attribute.unit));
  if (!attribute.help.empty()) parts.push_back("help: " + quoted(attribute.help));
  return parts;
}

std::string text_of(const Narrowing& narrowing) {
  std::vector<std::string> parts;
  if (!narrowing.dtypes.empty()) parts.push_back("dtype: " + texts(narrowing.dtypes));
  if (narrowing.is_optional) parts.push_back(fmt::format("optional: {}", *narrowing.is_optional));
  if (narrowing.help) parts.push_back("help: " + quoted(*narrowing.help));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

class Printer {
 public:
  explicit Printer(const Spec& spec) : spec_(spec) {}

  std::string print() {
    const Spec& spec = spec_;
    line("{}: {}", spec.is_internal ? "kernel" : "operator", spec.name.value);
    if (!spec.summary.empty()) line("summary: {}", quoted(spec.summary));
    if (spec.template_path) line("template: {}", quoted(spec.template_path->value));
    print_declarations(spec);
    print_constants(spec.constants);
    print_fit(spec.fit);
    print_conditions("", "require", spec.require);
    print_conditions("", "applies_when", spec.applies_when);
    print_conditions("", "require_device", spec.require_device);
    print_rarely_best(spec.rarely_best);
    if (spec.subgroup_size) line("subgroup_size: {}", plain(*spec.subgroup_size));
    if (spec.target) line("target: {}", word_of(*spec.target));
    if (spec.grid[0]) line("grid:");
    for (const auto& side : spec.grid) {
      if (side) line_of(side->where(), "  - {}", plain(*side));
    }
    if (spec.cost) line_of(spec.cost->where(), "cost: {}", plain(*spec.cost));
    if (spec.verify) print_verify(*spec.verify);
    if (!spec.recipes.empty()) line("recipes:");
    for (const Recipe& recipe : spec.recipes) print_recipe(recipe);
    return std::move(text_);
  }

 private:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  // A line that stands in a fragment bears its name.
  template <typename... Arguments>
  void line_of(const SourceLocation& where, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    line(format, std::forward<Arguments>(arguments)...);
    if (where.file.empty() || where.file == spec_.file) return;
    text_.pop_back();
    text_ += fmt::format("   # {}\n", stem(where.file));
  }

  void print_declarations(const Spec& spec) {
    line("operands:");
    for (const Operand& operand : spec.operands) {
      line_of(operand.name.where, "  {}: {{access: {}, dtype: {}, storage: {}{}{}{}{}}}", operand.name.value,
              name(operand.access), to_text(operand.dtype), to_text(operand.storage),
              operand.layout ? ", layout: " + to_text(*operand.layout) : "",
              operand.is_optional ? ", optional: true" : "",
              operand.in_place.empty() ? "" : ", in_place: " + texts(operand.in_place), signature_of(operand));
    }
    if (!spec.attributes.empty()) line("attributes:");
    for (const Attribute& attribute : spec.attributes)
      line_of(attribute.name.where, "  {}: {{{}}}", attribute.name.value, fmt::join(parts_of(attribute), ", "));
    if (!spec.operators.empty()) line("operators:");
    for (const PublicOperator& op : spec.operators) print_public_operator(op);
    if (!spec.problem.empty()) line("problem:");
    for (const ProblemField& field : spec.problem)
      line_of(field.name.where, "  {}: {}", field.name.value, qgen::spec::to_text(field));
    print_axes("parameters", spec.parameters);
    print_axes("specialization", spec.specialization);
  }

  void print_constants(const std::vector<PipelineConstant>& constants) {
    if (!constants.empty()) line("constants:");
    for (const PipelineConstant& constant : constants)
      line_of(constant.name.where, "  {}: {}", constant.name.value, plain(*constant.value));
  }

  void print_fit(const std::vector<FitConstant>& constants) {
    if (!constants.empty()) line("fit:");
    for (const FitConstant& constant : constants) {
      const std::string value = constant.unit.empty() ? fmt::format("{}", constant.value)
                                                      : fmt::format("{{value: {}, unit: {}, help: {}}}", constant.value,
                                                                    quoted(constant.unit), quoted(constant.help));
      line_of(constant.name.where, "  {}: {}", constant.name.value, value);
    }
  }

  void print_public_operator(const PublicOperator& op) {
    line("  {}:{}", op.name.value,
         op.summary.empty() && op.operands.empty() && op.without.empty() && op.with.empty() && op.aliases.empty()
             ? " {}"
             : "");
    if (!op.summary.empty()) line("    summary: {}", quoted(op.summary));
    if (!op.operands.empty()) line("    operands:");
    for (const Narrowing& narrowing : op.operands) line("      {}: {}", narrowing.operand.value, text_of(narrowing));
    if (!op.without.empty()) line("    without: {}", texts(op.without));
    if (!op.with.empty()) line("    with: {}", texts(op.with));
    if (!op.aliases.empty()) line("    aliases:");
    for (const Alias& alias : op.aliases) line("      {}: {}", alias.name.value, quoted(alias.part));
  }

  void print_axes(std::string_view key, const std::vector<Axis>& axes) {
    if (!axes.empty()) line("{}:", key);
    for (const AxisGroup& group : groups_of(axes)) {
      std::vector<std::string> values;
      for (size_t i = 0; i < group.size(); ++i) values.push_back(value_text(group, i));
      line_of(group.axes.front().name.where, "  {}: [{}]", group.name(), fmt::join(values, ", "));
    }
  }

  void print_conditions(std::string_view indent, std::string_view key, const std::vector<Condition>& conditions) {
    if (!conditions.empty()) line("{}{}:", indent, key);
    for (const Condition& condition : conditions)
      line_of(condition.expression.where(), "{}  - {}", indent, plain(condition.expression));
  }

  void print_rarely_best(const std::vector<RarelyBest>& rows) {
    if (!rows.empty()) line("rarely_best:");
    for (const RarelyBest& row : rows) {
      line_of(row.when.expression.where(), "  - when: {}", plain(row.when.expression));
      line("    on: {}", texts(row.on));
      line("    because: {}", quoted(row.because));
    }
  }

  void print_verify(const Verify& verify) {
    line("verify:");
    line_of(verify.reference.where, "  reference: {}", verify.reference.value);
    std::string more;
    if (verify.tolerance_f16) more += fmt::format(", f16: {{{}}}", numbers_of(*verify.tolerance_f16));
    if (!verify.computed.empty()) more += fmt::format(", computed: {}", quoted(verify.computed));
    if (!verify.why.empty()) more += fmt::format(", why: {}", quoted(verify.why));
    line("  tolerance: {{{}{}}}", numbers_of(verify.tolerance), more);
  }

  static std::string numbers_of(const Tolerance& tolerance) {
    return fmt::format("abs: {}, rel: {}", tolerance.abs, tolerance.rel);
  }

  void print_recipe(const Recipe& recipe) {
    line_of(recipe.name.where, "  {}:", recipe.name.value);
    print_conditions("    ", "applies_when", recipe.applies_when);
    if (!recipe.scratch.empty()) line("    scratch:");
    for (const Scratch& scratch : recipe.scratch) {
      line_of(scratch.name.where, "      {}:", scratch.name.value);
      line("        dtype: {}", qgen::name(scratch.dtype));
      line("        elements: {}", plain(scratch.elements));
    }
    if (!recipe.bind.empty()) line("    bind:");
    for (const auto& [theirs, ours] : recipe.bind) line("      {}: {}", theirs.value, ours.value);
    if (!recipe.seen_as.empty()) line("    seen_as:");
    for (const auto& [theirs, layout] : recipe.seen_as) line("      {}: {}", theirs.value, layout.value);
    line("    steps:");
    for (const Step& step : recipe.steps) print_step(step);
  }

  void print_step(const Step& step) {
    line_of(step.kernel.where, "      - kernel: {}", step.kernel.value);
    if (!step.operands.empty()) line("        operands:");
    for (const auto& [theirs, ours] : step.operands) line("          {}: {}", theirs.value, ours.value);
    if (!step.problem.empty()) line("        problem:");
    for (const auto& [theirs, passed] : step.problem) line("          {}: {}", theirs.value, plain(passed.expression));
    if (!step.with.empty()) line("        with:");
    for (const auto& [parameter, value] : step.with)
      line("          {}: {}", parameter.value, expression::to_text(value.value));
    if (!step.seen_as.empty()) line("        seen_as:");
    for (const auto& [theirs, layout] : step.seen_as) line("          {}: {}", theirs.value, layout.value);
    if (step.indirect) line("        indirect: {}", step.indirect->value);
  }

  const Spec& spec_;
  std::string text_;
};

}  // namespace

std::string to_text(const Spec& spec) { return Printer(spec).print(); }

}  // namespace qgen::spec
