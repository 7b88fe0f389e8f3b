// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints recipes. A step is a kernel of this spec or of another one. It has the sources of its operands, a function
// that makes its problem from the recipe's, and its allowed variants. Parts that several steps share are printed once.
//
//   constexpr OperandSource row_sum_partial_operands[] = {table::ours(Operand::input), table::scratch(0)};
//   void row_sum_partial_problem(const SelectionScope& scope, void* step_problem) {...}
//   constexpr StepInfo two_pass_steps[] = {{&row_sum_partial::op, row_sum_partial_operands,
//                                           row_sum_partial_problem, ...}};
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/products.h"
#include "codegen/emit/shared_values.h"

namespace qgen::emit {
namespace {

using spec::Axis;
using spec::Spec;

class RecipePrinter {
 public:
  RecipePrinter(TextWriter& out, const Spec& spec, std::span<const Family> families)
      : out_(out), shared_(out), spec_(spec), families_(families) {}

  void print() {
    if (spec_.recipes.empty()) return;
    Rows rows;
    for (const spec::Recipe* recipe : sorted()) append(rows, recipe_row(*recipe));
    out_.text("constexpr RecipeInfo kRecipes[] = {");
    {
      const auto indented = out_.indent();
      for (const std::string& row : rows) out_.text(row);
    }
    out_.text("};");
    out_.blank();
  }

  Diagnostics take_errors() { return std::move(errors_); }

 private:
  std::vector<const spec::Recipe*> sorted() const {
    std::vector<const spec::Recipe*> recipes;
    for (const auto& recipe : spec_.recipes) recipes.push_back(&recipe);
    std::sort(recipes.begin(), recipes.end(),
              [](const auto* a, const auto* b) { return a->name.value < b->name.value; });
    return recipes;
  }

  static std::string scope_parameter(const Reads& reads) {
    return fmt::format("const SelectionScope&{}", reads.scope_name());
  }

  static void append(Rows& to, const Rows& rows) { to.insert(to.end(), rows.begin(), rows.end()); }

  // Names within one recipe, which others may also use.
  static Names named(const spec::Recipe& recipe, std::string_view what) {
    return {{std::string(what), fmt::format("{}_{}", recipe.name.value, what)}, std::string(what)};
  }

  // Prints the data that the recipe's row refers to, and returns the row.
  Rows recipe_row(const spec::Recipe& recipe) {
    const std::string& name = recipe.name.value;
    Rows row = {fmt::format("{{.id = {},", quoted(fmt::format("{}.{}", spec_.name.value, recipe.name.value)))};
    const auto field = [&](std::string_view field_name, std::string_view value) {
      row.push_back(fmt::format("    .{} = {},", field_name, value));
    };
    const bool has_conditions = !recipe.applies_when.empty();
    const std::string table = name + "_conditions", first_failing = name + "_first_failing";
    print_conditions(out_, spec_, recipe.applies_when, table, first_failing);
    if (has_conditions) field("conditions", table);
    field("first_failing", has_conditions ? first_failing : "table::all_hold");
    if (!recipe.scratch.empty()) field("scratch", print_scratch(recipe));
    row.push_back(fmt::format("    .steps = {}}},", print_steps(recipe)));
    return row;
  }

  std::string print_scratch(const spec::Recipe& recipe) {
    Rows rows;
    for (const auto& scratch : recipe.scratch) {
      Reads reads(spec_);
      reads.add(scratch.elements);
      Rows body = reads.lines();
      body.push_back(fmt::format("return {};", as_cpp(spec_, scratch.elements)));
      const std::string elements = shared_.print_function("Integer", named(recipe, scratch.name.value + "_elements"),
                                                          scope_parameter(reads), body);
      rows.push_back(fmt::format("{{{}, DType::{}, {}}}", quoted(scratch.name.value), name(scratch.dtype), elements));
    }
    return shared_.print_filled("ScratchInfo", named(recipe, "scratch"), "", rows);
  }

  std::string print_steps(const spec::Recipe& recipe) {
    Rows rows;
    for (const spec::Step& step : recipe.steps) {
      if (const Family* family = find_family(step.kernel.value)) {
        rows.push_back(step_row(recipe, step, *family->spec));
      } else {
        report(step.kernel.where, fmt::format("no spec of this run is named '{}'", step.kernel.value),
               "add the spec of that kernel to the command line");
      }
    }
    const std::string name = recipe.name.value + "_steps";
    out_.line("constexpr StepInfo {}[] = {{", name);
    {
      const auto indented = out_.indent();
      for (const std::string& row : rows) out_.code(row + ",");
    }
    out_.text("};");
    out_.blank();
    return name;
  }

  // Prints a step's parts; the result is its row.
  std::string step_row(const spec::Recipe& recipe, const spec::Step& step, const Spec& family) {
    Rows sources;
    for (const auto& operand : family.operands) sources.push_back(source(recipe, step, operand.name.value));
    std::string row = fmt::format("{{&{}::op", identifier(family.name.value));
    row += ", " + shared_.print_filled("OperandSource", named(recipe, family.name.value + "_operands"), "", sources);
    row += ", " + print_make_problem(recipe, step, family);
    if (!step.with.empty()) row += ", " + print_takes(recipe, step, family);
    else if (step.indirect) row += ", nullptr";
    if (step.indirect) row += ", " + indirect(recipe, step.indirect->value);
    return row + "}";
  }

  std::string source(const spec::Recipe& recipe, const spec::Step& step, std::string_view operand) const {
    const std::string_view ours = spec::source_of(spec_, recipe, step, operand);
    if (ours.empty()) return "table::kNoSource";
    const std::string_view layout = spec::layout_seen(recipe, step, operand);
    const std::string seen = layout.empty() ? "" : fmt::format(", Layout::{}", layout);
    if (const auto scratch = place_of_scratch(recipe, ours)) return fmt::format("table::scratch({}{})", *scratch, seen);
    return fmt::format("table::ours(Operand::{}{})", identifier(ours), seen);
  }

  // check_specs() has seen to it that there is a counter.
  std::string indirect(const spec::Recipe& recipe, std::string_view scratch) const {
    const auto counter = std::ranges::find_if(recipe.steps, [&](const spec::Step& step) {
      const Family* family = find_family(step.kernel.value);
      return family && spec::writes(spec_, recipe, step, *family->spec, scratch);
    });
    const Spec& family = *find_family(counter->kernel.value)->spec;
    const auto most = std::ranges::find(family.problem, spec::kMostWorkgroups,
                                        [](const auto& field) -> std::string_view { return field.name.value; });
    return fmt::format("{{{}, {}, offsetof({}::Problem, {})}}", *place_of_scratch(recipe, scratch),
                       counter - recipe.steps.begin(), identifier(family.name.value), member_of_problem(*most));
  }

  static std::optional<size_t> place_of_scratch(const spec::Recipe& recipe, std::string_view name) {
    for (size_t i = 0; i < recipe.scratch.size(); ++i) {
      if (recipe.scratch[i].name.value == name) return i;
    }
    return std::nullopt;
  }

  std::string print_make_problem(const spec::Recipe& recipe, const spec::Step& step, const Spec& family) {
    const std::string space = identifier(family.name.value);
    Reads reads(spec_);
    Rows fields;
    const bool is_counter = spec::is_counter(spec_, recipe, step, family);
    for (const FieldGroup& group : field_groups(family)) append(fields, set_fields(step, group, is_counter, reads));
    Rows body = reads.lines();
    if (!fields.empty()) body.push_back(fmt::format("auto& to = *static_cast<{}::Problem*>(step_problem);", space));
    append(body, fields);
    const std::string parameters = scope_parameter(reads) + (fields.empty() ? ", void*" : ", void* step_problem");
    return shared_.print_function("void", named(recipe, family.name.value + "_problem"), parameters, body);
  }

  // The fields of a fragment at once, if both specs use it and the step changes none of its fields.
  Rows set_fields(const spec::Step& step, const FieldGroup& group, bool is_counter, Reads& reads) {
    const bool are_ours = !group.fragment.empty() && std::ranges::all_of(group.fields, [&](const auto& field) {
      const spec::ProblemField* ours = field_of_ours(step, field);
      return ours != nullptr && ours->fragment == group.fragment && ours->name.value == field.name.value;
    });
    Rows rows;
    if (are_ours) {
      reads.add(Source::problem);
      rows.push_back(fmt::format("to.{0} = problem.{0};", identifier(group.fragment)));
    } else {
      for (const spec::ProblemField& field : group.fields) {
        if (!is_counter || field.name.value != spec::kMostWorkgroups) rows.push_back(set_field(step, field, reads));
      }
    }
    return rows;
  }

  // The field of ours that becomes the step's field unchanged; null: there is none.
  const spec::ProblemField* field_of_ours(const spec::Step& step, const spec::ProblemField& field) const {
    const spec::ProblemField* ours = find_field(spec_, spec::expression_of(spec_, step, field));
    const bool is_same =
        ours && ours->kind == field.kind && ours->count == field.count && ours->word_set == field.word_set;
    return is_same ? ours : nullptr;
  }

  // A field of ours unchanged, or an expression.
  std::string set_field(const spec::Step& step, const spec::ProblemField& field, Reads& reads) {
    const std::string to = "to." + member_of_problem(field);
    if (const spec::ProblemField* ours = field_of_ours(step, field)) {
      reads.add(Source::problem);
      return fmt::format("{} = problem.{};", to, member_of_problem(*ours));
    }
    if (field.is_word()) return fmt::format("{} = {};", to, cpp_word(field, spec::expression_of(spec_, step, field)));
    const auto passed = passed_expression(step, field);
    if (!passed) return "";
    reads.add(*passed);
    return fmt::format("table::set({}, {});", to, as_cpp(spec_, *passed));
  }

  // The step's value, or our definition of the field's name, or its default.
  std::optional<expression::Expression> passed_expression(const spec::Step& step, const spec::ProblemField& field) {
    if (const auto* said = spec::said_of(step.problem, field.name.value)) return said->second.expression;
    const auto wanted = field.kind == spec::FieldKind::f32 ? expression::Type::real : expression::Type::integer;
    auto parsed = expression::parse(spec::expression_of(spec_, step, field), step.kernel.where, spec_.scope, wanted);
    if (parsed) return *std::move(parsed);
    errors_.insert(errors_.end(), parsed.error().begin(), parsed.error().end());
    return std::nullopt;
  }

  std::string print_takes(const spec::Recipe& recipe, const spec::Step& step, const Spec& family) {
    const std::string space = identifier(family.name.value);
    Rows conditions;
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
    return shared_.print_function(
        "bool", named(recipe, family.name.value + "_takes"), "const void* kernel_parameters",
        {fmt::format("const auto& parameters = *static_cast<const {}::Parameters*>(kernel_parameters);", space),
         fmt::format("return {};", fmt::join(conditions, " && "))});
  }

  const Family* find_family(std::string_view name) const {
    const auto family =
        std::find_if(families_.begin(), families_.end(), [&](const Family& f) { return f.spec->name.value == name; });
    return family == families_.end() ? nullptr : &*family;
  }

  void report(const SourceLocation& where, std::string message, std::string hint) {
    errors_.push_back({where, std::move(message), "", std::move(hint), {}});
  }

  TextWriter& out_;
  SharedValues shared_;
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
