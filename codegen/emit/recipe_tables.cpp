// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Recipes: for each a namespace of its own with what its row refers to, then the rows. A step is a kernel of this spec or
// of another: where its operands come from, how its problem is made of ours, which of its variants will do.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/products.h"

namespace qgen::emit {
namespace {

using spec::Axis;
using spec::Spec;

class RecipePrinter {
 public:
  RecipePrinter(TextWriter& out, const Spec& spec, std::span<const Family> families)
      : out_(out), spec_(spec), families_(families) {}

  // Prints what each recipe's row refers to, in a namespace of the recipe's own; then the rows.
  void print() {
    if (spec_.recipes.empty()) return;
    for (const spec::Recipe& recipe : spec_.recipes) print_recipe(recipe);
    out_.text("constexpr RecipeInfo kRecipes[] = {");
    {
      const auto indented = out_.indent();
      for (const spec::Recipe* recipe : sorted()) print_row(*recipe);
    }
    out_.text("};");
    out_.blank();
  }

  Diagnostics take_errors() { return std::move(errors_); }

 private:
  std::vector<const spec::Recipe*> sorted() const {
    std::vector<const spec::Recipe*> recipes;
    for (const auto& recipe : spec_.recipes) recipes.push_back(&recipe);
    std::sort(recipes.begin(), recipes.end(), [](const auto* a, const auto* b) { return a->name.value < b->name.value; });
    return recipes;
  }

  void print_row(const spec::Recipe& recipe) {
    const std::string space = identifier(recipe.name.value);
    out_.text("{");
    {
      const auto fields = out_.indent();
      const auto more = out_.indent();
      out_.line(".id = {},", quoted(fmt::format("{}.{}", spec_.name.value, recipe.name.value)));
      const bool has_conditions = !recipe.applies_when.empty();
      if (has_conditions) out_.line(".conditions = {}::kConditions,", space);
      out_.line(".first_failing = {},", has_conditions ? space + "::first_failing" : "table::all_hold");
      if (!recipe.scratch.empty()) out_.line(".scratch = {}::kScratch,", space);
      out_.line(".steps = {}::kSteps,", space);
    }
    out_.text("},");
  }

  void print_recipe(const spec::Recipe& recipe) {
    const std::string space = identifier(recipe.name.value);
    out_.line("namespace {} {{", space);
    out_.blank();
    print_conditions(out_, spec_, recipe.applies_when, "kConditions", "first_failing");
    print_scratch(recipe);
    std::vector<std::string> rows;
    std::map<std::string, int> uses;
    for (const spec::Step& step : recipe.steps) {
      const Family* family = find_family(step.kernel.value);
      if (family == nullptr) {
        report(step.kernel.where, fmt::format("no spec of this run is named '{}'", step.kernel.value),
               "add the spec of that kernel to the command line");
        continue;
      }
      const int use = ++uses[step.kernel.value];
      const std::string name = identifier(step.kernel.value) + (use == 1 ? "" : fmt::format("_{}", use));
      rows.push_back(print_step(recipe, step, *family->spec, name));
    }
    out_.text("constexpr StepInfo kSteps[] = {");
    {
      const auto indented = out_.indent();
      for (const std::string& row : rows) out_.text(row);
    }
    out_.text("};");
    out_.blank();
    out_.line("}}  // namespace {}", space);
    out_.blank();
  }

  void print_scratch(const spec::Recipe& recipe) {
    if (recipe.scratch.empty()) return;
    for (const auto& scratch : recipe.scratch) {
      print_function(out_, spec_, "Integer", identifier(scratch.name.value) + "_elements", scratch.elements);
    }
    out_.text("constexpr ScratchInfo kScratch[] = {");
    {
      const auto indented = out_.indent();
      for (const auto& scratch : recipe.scratch) {
        out_.line("{{{}, DType::{}, {}_elements}},", quoted(scratch.name.value), name(scratch.dtype),
                  identifier(scratch.name.value));
      }
    }
    out_.text("};");
    out_.blank();
  }

  // Prints a step's parts; the result is its row.
  std::string print_step(const spec::Recipe& recipe, const spec::Step& step, const Spec& family,
                         const std::string& name) {
    print_operand_sources(recipe, step, family, name);
    print_make_problem(step, family, name);
    const bool fixes = !step.with.empty();
    if (fixes) print_takes(step, family, name);
    return fmt::format("{{&{}::op, k{}, {}_problem, {}}},", identifier(family.name.value), operands_name(name), name,
                       fixes ? name + "_takes" : "nullptr");
  }

  static std::string operands_name(const std::string& step) { return "Operands_" + step; }

  void print_operand_sources(const spec::Recipe& recipe, const spec::Step& step, const Spec& family,
                             const std::string& name) {
    out_.line("constexpr OperandSource k{}[] = {{", operands_name(name));
    {
      const auto indented = out_.indent();
      for (const auto& operand : family.operands) {
        out_.line("{},  // {}", operand_source(recipe, step, operand.name.value), operand.name.value);
      }
    }
    out_.text("};");
    out_.blank();
  }

  std::string operand_source(const spec::Recipe& recipe, const spec::Step& step, const std::string& operand) const {
    const std::string_view ours = spec::source_of(spec_, recipe, step, operand);
    if (ours.empty()) return "{false, kAbsent}";
    for (size_t i = 0; i < recipe.scratch.size(); ++i) {
      if (recipe.scratch[i].name.value == ours) return fmt::format("{{true, {}}}", i);
    }
    return fmt::format("{{false, table::place(Operand::{})}}", identifier(ours));
  }

  void print_make_problem(const spec::Step& step, const Spec& family, const std::string& name) {
    std::vector<std::string> lines;
    Reads reads(spec_);
    for (const auto& field : family.problem) {
      lines.push_back(fmt::format("table::set(to.{}, {});", identifier(field.name.value), field_value(step, field, reads)));
    }
    out_.line("void {}_problem(const SelectionScope&{}, void*{}) {{", name, reads.scope_name(),
              lines.empty() ? "" : " step_problem");
    {
      const auto indented = out_.indent();
      reads.print(out_);
      if (!lines.empty()) out_.line("auto& to = *static_cast<{}::Problem*>(step_problem);", identifier(family.name.value));
      for (const std::string& line : lines) out_.text(line);
    }
    out_.text("}");
    out_.blank();
  }

  // What one field of a step's problem is: an expression over our names, or our array of the same name.
  std::string field_value(const spec::Step& step, const spec::ProblemField& field, Reads& reads) {
    if (field.count > 1) {
      reads.add(Source::problem);
      return "problem." + identifier(field.name.value);
    }
    const auto wanted = field.kind == spec::FieldKind::f32 ? expression::Type::real : expression::Type::integer;
    const auto parsed =
        expression::parse(spec::expression_of(spec_, step, field.name.value), step.kernel.where, spec_.scope, wanted);
    if (!parsed) {
      append(errors_, parsed.error());
      return "0";
    }
    reads.add(*parsed);
    return as_cpp(spec_, *parsed);
  }

  void print_takes(const spec::Step& step, const Spec& family, const std::string& name) {
    const std::string space = identifier(family.name.value);
    std::vector<std::string> conditions;
    for (const auto& [parameter, value] : step.with) {
      const Axis* axis = find_axis(family.parameters, parameter.value);
      if (axis == nullptr) {
        report(parameter.where, fmt::format("'{}' has no parameter '{}'", family.name.value, parameter.value), "");
        continue;
      }
      const bool is_own_word = axis->type == expression::Type::word && word_set(*axis) == WordSet::own;
      conditions.push_back(fmt::format("parameters.{} == {}{}", identifier(parameter.value),
                                       is_own_word ? space + "::" : "", cpp_value(*axis, value.value)));
    }
    out_.line("bool {}_takes(const void* kernel_parameters) {{", name);
    {
      const auto indented = out_.indent();
      out_.line("const auto& parameters = *static_cast<const {}::Parameters*>(kernel_parameters);", space);
      out_.line("return {};", fmt::join(conditions, " && "));
    }
    out_.text("}");
    out_.blank();
  }

  const Family* find_family(std::string_view name) const {
    const auto family = std::find_if(families_.begin(), families_.end(),
                                     [&](const Family& f) { return f.spec->name.value == name; });
    return family == families_.end() ? nullptr : &*family;
  }

  void report(const SourceLocation& where, std::string message, std::string hint) {
    errors_.push_back({where, std::move(message), "", std::move(hint), {}});
  }

  TextWriter& out_;
  const Spec& spec_;
  std::span<const Family> families_;
  Diagnostics errors_;
};

}  // namespace

Diagnostics print_recipes(TextWriter& out, const Spec& spec, std::span<const Family> families) {
  RecipePrinter printer(out, spec, families);
  printer.print();
  return printer.take_errors();
}

}  // namespace qgen::emit
