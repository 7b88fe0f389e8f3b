// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables of one operator, and its spec's expressions as functions.
//
// Rows refer to each other by names that come from content (uses_1a2b3c4d), never by number, and what several rows
// share is printed once: a variant costs one line here and one in the header.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/expression/expression.h"
#include "codegen/spec/axes.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {
namespace {

using expression::Expression;
using expression::Symbol;
using spec::Axis;
using spec::Spec;

// ---- expressions as C++ --------------------------------------------------------------------------------------------------

enum class Source : uint8_t { parameter, specialization, problem, device };

constexpr std::string_view kDevicePrefix = "device.";

Source source_of(const Spec& spec, std::string_view name) {
  if (name.starts_with(kDevicePrefix)) return Source::device;
  if (find_axis(spec.parameters, name)) return Source::parameter;
  return find_axis(spec.specialization, name) ? Source::specialization : Source::problem;
}

size_t specialization_index(const Spec& spec, std::string_view name) {
  return static_cast<size_t>(find_axis(spec.specialization, name) - spec.specialization.data());
}

std::string read_symbol(const Spec& spec, const Symbol& symbol) {
  switch (source_of(spec, symbol.name)) {
    case Source::device: return symbol.name;
    case Source::parameter: return "parameters." + identifier(symbol.name);
    case Source::problem: return "problem." + identifier(symbol.name);
    case Source::specialization: break;
  }
  const std::string value = "specialization." + identifier(symbol.name);
  return symbol.type == expression::Type::boolean ? fmt::format("({} != 0)", value) : value;
}

std::string as_cpp(const Spec& spec, const Expression& expression) {
  return expression::to_cpp(expression, spec.scope,
                            {.print_symbol = [&](const Symbol& symbol) { return read_symbol(spec, symbol); },
                             .print_word = [&](const Symbol& compared_with, std::string_view word) {
                               return cpp_word(*find_axis(spec.parameters, compared_with.name), word);
                             }});
}

// The lines that make the structs known which the expressions read.
class Reads {
 public:
  explicit Reads(const Spec& spec) : spec_(spec) {}

  void add(const Expression& expression) {
    for (const size_t symbol : expression::symbols_of(expression)) {
      sources_.insert(source_of(spec_, spec_.scope.symbols()[symbol].name));
    }
  }
  void add(Source source) { sources_.insert(source); }

  std::string_view scope_name() const { return sources_.empty() ? "" : " scope"; }

  void print(TextWriter& out) const {
    if (has(Source::parameter)) out.text("const auto& parameters = table::parameters<Parameters>(scope);");
    if (has(Source::specialization)) out.text("const auto specialization = specialization_of(scope);");
    if (has(Source::problem)) out.text("const auto& problem = table::problem<Problem>(scope);");
    if (has(Source::device)) out.text("const auto& device = *scope.device;");
  }

 private:
  bool has(Source source) const { return sources_.count(source) != 0; }
  const Spec& spec_;
  std::set<Source> sources_;
};

// `RESULT NAME(const SelectionScope& scope) { return EXPRESSION; }`
void print_function(TextWriter& out, const Spec& spec, std::string_view result, std::string_view name,
                    const Expression& expression) {
  Reads reads(spec);
  reads.add(expression);
  out.line("{} {}(const SelectionScope&{}) {{", result, name, reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    out.line("return {};", as_cpp(spec, expression));
  }
  out.text("}");
  out.blank();
}

// ---- names and conditions --------------------------------------------------------------------------------------------------

bool is_own_name(const Symbol& symbol) { return !symbol.name.starts_with(kDevicePrefix); }

void print_own_words(TextWriter& out, const Spec& spec) {
  if (!spec.template_path) return;
  for (const Axis& axis : spec.parameters) {
    if (axis.type != expression::Type::word || word_set(axis) != WordSet::own) continue;
    out.line("constexpr std::string_view {}[] = {{", words_array(axis));
    {
      const auto indented = out.indent();
      for (const std::string& word : spec::words_of(axis)) out.line("{},", quoted(word));
    }
    out.text("};");
    out.blank();
  }
}

std::string name_row(const Spec& spec, const Symbol& symbol) {
  const Axis* axis = find_axis(spec.parameters, symbol.name);
  const bool is_word = axis && axis->type == expression::Type::word;
  return fmt::format("{{{}, {}}},", quoted(symbol.name), is_word ? words_array(*axis) : "{}");
}

void print_names(TextWriter& out, const Spec& spec) {
  std::vector<Symbol> own;
  std::copy_if(spec.scope.symbols().begin(), spec.scope.symbols().end(), std::back_inserter(own), is_own_name);
  out.text("// What expressions speak of; behind these, the numbers of the device.");
  out.text("enum class Name : uint16_t {");
  {
    const auto indented = out.indent();
    for (const Symbol& symbol : own) out.line("{},", identifier(symbol.name));
    out.text("kDevice,");
  }
  out.text("};");
  out.blank();
  if (own.empty()) {
    out.text("constexpr const auto& kNames = table::kDeviceNames;");
    out.blank();
    return;
  }
  print_own_words(out, spec);
  out.text("constexpr auto kNames = table::names({");
  {
    const auto indented = out.indent();
    for (const Symbol& symbol : own) out.text(name_row(spec, symbol));
  }
  out.text("});");
  out.blank();
}

std::string value_of(const Spec& spec, const Symbol& symbol) {
  switch (source_of(spec, symbol.name)) {
    case Source::specialization: return fmt::format("scope.specialization[{}]", specialization_index(spec, symbol.name));
    case Source::parameter: {
      const std::string value = "parameters->" + identifier(symbol.name);
      if (symbol.type == expression::Type::word) return fmt::format("table::word({})", value);
      return symbol.type == expression::Type::boolean ? value + " ? 1 : 0" : value;
    }
    case Source::problem: {
      const std::string value = "problem->" + identifier(symbol.name);
      return symbol.type == expression::Type::real ? fmt::format("table::truncated({})", value) : value;
    }
    case Source::device: break;
  }
  return "";
}

void print_value_function(TextWriter& out, const Spec& spec) {
  out.text("Integer value(size_t name, const SelectionScope& scope) {");
  {
    const auto indented = out.indent();
    const bool has_values = spec.template_path && !spec.parameters.empty();
    if (has_values) out.text("const auto* parameters = static_cast<const Parameters*>(scope.parameters);");
    if (!spec.problem.empty()) out.text("const auto* problem = static_cast<const Problem*>(scope.problem);");
    out.text("switch (static_cast<Name>(name)) {");
    {
      const auto cases = out.indent();
      for (const Symbol& symbol : spec.scope.symbols()) {
        if (is_own_name(symbol)) out.line("case Name::{}: return {};", identifier(symbol.name), value_of(spec, symbol));
      }
      out.text("case Name::kDevice: break;");
    }
    out.text("}");
    out.text("return table::device_value(name - static_cast<size_t>(Name::kDevice), *scope.device);");
  }
  out.text("}");
  out.blank();
}

std::string name_list(const Spec& spec, const Expression& expression) {
  std::vector<std::string> names;
  for (const size_t index : expression::symbols_of(expression)) {
    const std::string& name = spec.scope.symbols()[index].name;
    names.push_back(name.starts_with(kDevicePrefix)
                        ? fmt::format("table::after(Name::kDevice, table::DeviceNumber::{})",
                                      name.substr(kDevicePrefix.size()))
                        : "Name::" + identifier(name));
  }
  return names.empty() ? "{}" : fmt::format("table::kNamesOf<{}>", fmt::join(names, ", "));
}

// The table of a list of conditions and the function that finds the first to fail. No conditions: neither.
void print_conditions(TextWriter& out, const Spec& spec, const std::vector<spec::Condition>& conditions,
                      std::string_view table, std::string_view function) {
  if (conditions.empty()) return;
  out.line("constexpr ConditionInfo {}[] = {{", table);
  {
    const auto indented = out.indent();
    for (const auto& condition : conditions) {
      out.line("{{{}, {}}},", quoted(condition.text), name_list(spec, condition.expression));
    }
  }
  out.text("};");
  out.blank();
  Reads reads(spec);
  for (const auto& condition : conditions) reads.add(condition.expression);
  out.line("int {}(const SelectionScope&{}) {{", function, reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    out.text("return table::first_false({");
    {
      const auto rows = out.indent();
      const auto more = out.indent();
      for (const auto& condition : conditions) out.line("{},", as_cpp(spec, condition.expression));
    }
    out.text("});");
  }
  out.text("}");
  out.blank();
}

// ---- operands and fields -----------------------------------------------------------------------------------------------------

void print_operands(TextWriter& out, const Spec& spec) {
  if (spec.operands.empty()) return;
  out.text("constexpr OperandInfo kOperands[] = {");
  {
    const auto indented = out.indent();
    for (const auto& operand : spec.operands) {
      out.line("{{{}, {}, {}}},", quoted(operand.name.value), cpp_name(operand.access), operand.is_optional);
    }
  }
  out.text("};");
  out.blank();
}

void print_fields(TextWriter& out, const Spec& spec) {
  if (spec.problem.empty()) return;
  out.text("constexpr FieldInfo kFields[] = {");
  {
    const auto indented = out.indent();
    for (const auto& field : spec.problem) {
      out.line("{{{}, {}, offsetof(Problem, {}), {}}},", quoted(field.name.value), cpp_name(field.kind),
               identifier(field.name.value), field.count);
    }
  }
  out.text("};");
  out.blank();
}

std::string choice(const spec::Choice& chosen, std::string_view enumeration) {
  if (chosen.is_parameter) return "parameters." + identifier(chosen.word);
  return fmt::format("{}::{}", enumeration, chosen.word);
}

bool names_parameter(const spec::Operand& operand) {
  return operand.dtype.is_parameter || operand.storage.is_parameter || (operand.layout && operand.layout->is_parameter);
}

void print_form_function(TextWriter& out, const Spec& spec) {
  const bool reads = std::any_of(spec.operands.begin(), spec.operands.end(), names_parameter);
  out.line("OperandForm form(const void*{}, size_t operand) {{", reads ? " kernel_parameters" : "");
  {
    const auto indented = out.indent();
    if (reads) out.text("const Parameters& parameters = *static_cast<const Parameters*>(kernel_parameters);");
    out.text("switch (static_cast<Operand>(operand)) {");
    {
      const auto cases = out.indent();
      for (const auto& operand : spec.operands) {
        out.line("case Operand::{}: return {{{}, {}, {}}};", identifier(operand.name.value),
                 choice(operand.dtype, "DType"), choice(operand.storage, "Storage"),
                 operand.layout ? fmt::format("table::only({})", choice(*operand.layout, "Layout")) : "0");
      }
    }
    out.text("}");
    out.text("return {};");
  }
  out.text("}");
  out.blank();
}

void print_specializations(TextWriter& out, const Spec& spec) {
  if (spec.specialization.empty()) return;
  std::vector<std::string> names, rows;
  for (const Axis& axis : spec.specialization) names.push_back(quoted(axis.name.value));
  for (const auto& row : specialization_rows(spec)) rows.push_back(fmt::format("{}", fmt::join(row, ", ")));
  out.filled("constexpr std::string_view kSpecializationNames[] = {", names, "};");
  constexpr std::string_view kHead = "constexpr uint32_t kSpecializations[] = {";
  if (names.size() == 1) {
    out.filled(kHead, rows, "};");
  } else {
    out.text(kHead);
    for (const std::string& row : rows) out.line("  {},", row);
    out.text("};");
  }
  out.blank();
}

// The row as its struct, for the expressions below.
void print_specialization_of(TextWriter& out, const Spec& spec) {
  std::vector<std::string> values;
  for (size_t i = 0; i < spec.specialization.size(); ++i) values.push_back(fmt::format("scope.specialization[{}]", i));
  out.text("[[maybe_unused]] Specialization specialization_of(const SelectionScope& scope) {");
  out.line("  return {{{}}};", fmt::join(values, ", "));
  out.text("}");
  out.blank();
}

// ---- kernels -----------------------------------------------------------------------------------------------------------------

// A parameter's value where qgen's own enumerators are known by their words alone.
std::string row_value(const Axis& axis, const expression::Value& value) {
  const auto* word = std::get_if<expression::Word>(&value);
  return word && word_set(axis) != WordSet::own ? identifier(word->text) : cpp_value(axis, value);
}

std::string kernel_row(const Spec& spec, const Kernel& kernel, std::string_view interface) {
  std::vector<std::string> values;
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    values.push_back(row_value(spec.parameters[p], kernel.variant.values[p]));
  }
  return fmt::format("{{{}, {{{}}}, {}}},", quoted(kernel.variant.id), fmt::join(values, ", "), interface);
}

void print_kernels(TextWriter& out, const OperatorModel& model) {
  const auto& kernels = model.family->kernels;
  out.text("constexpr auto kRows = [] {");
  {
    const auto indented = out.indent();
    std::set<std::string> enumerations;
    for (const Axis& axis : model.spec().parameters) {
      const bool is_ours = axis.type == expression::Type::word && word_set(axis) != WordSet::own;
      if (is_ours && enumerations.insert(cpp_type(axis)).second) out.line("using enum {};", cpp_type(axis));
    }
    out.text("return std::to_array<table::Row<Parameters>>({");
    {
      const auto rows = out.indent();
      for (size_t k = 0; k < kernels.size(); ++k) out.text(kernel_row(model.spec(), kernels[k], model.interface[k]));
    }
    out.text("});");
  }
  out.text("}();");
  out.text("static_assert(std::size(kRows) == kVariants, \"header and tables are of two runs of qgen\");");
  out.text("constexpr auto kKernels = table::kernels(kRows, kFirstModule);");
  out.blank();
}

void print_grid_function(TextWriter& out, const Spec& spec) {
  Reads reads(spec);
  for (const auto& side : spec.grid) {
    if (side) reads.add(*side);
  }
  out.line("void grid(const SelectionScope&{}, Integer groups[3]) {{", reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    for (size_t i = 0; i < spec.grid.size(); ++i) {
      out.line("groups[{}] = {};", i, spec.grid[i] ? as_cpp(spec, *spec.grid[i]) : "1");
    }
  }
  out.text("}");
  out.blank();
}

void print_cost_function(TextWriter& out, const Spec& spec) {
  if (spec.cost) return print_function(out, spec, "Real", "cost", *spec.cost);
  out.text("Real cost(const SelectionScope&) { return 0; }");
  out.blank();
}

// ---- recipes -----------------------------------------------------------------------------------------------------------------

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
    const auto given = std::find_if(step.operands.begin(), step.operands.end(),
                                    [&](const auto& pair) { return pair.first.value == operand; });
    if (given == step.operands.end()) return "{false, kAbsent}";
    const std::string& ours = given->second.value;
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

  // What one field of a step's problem is: an expression over our names, or our field of the same name.
  std::string field_value(const spec::Step& step, const spec::ProblemField& field, Reads& reads) {
    const auto given = std::find_if(step.problem.begin(), step.problem.end(),
                                    [&](const auto& pair) { return pair.first.value == field.name.value; });
    if (given == step.problem.end()) return same_field(step, field, reads);
    const auto wanted = field.kind == spec::FieldKind::f32 ? expression::Type::real : expression::Type::integer;
    const auto parsed = expression::parse(given->second, given->first.where, spec_.scope, wanted);
    if (!parsed) {
      append(errors_, parsed.error());
      return "0";
    }
    reads.add(*parsed);
    return as_cpp(spec_, *parsed);
  }

  std::string same_field(const spec::Step& step, const spec::ProblemField& field, Reads& reads) {
    const auto ours = std::find_if(spec_.problem.begin(), spec_.problem.end(),
                                   [&](const auto& f) { return f.name.value == field.name.value; });
    if (ours == spec_.problem.end() || ours->count != field.count || ours->kind != field.kind) {
      report(step.kernel.where,
             fmt::format("problem field '{}' of '{}' gets no value", field.name.value, step.kernel.value),
             "give it under the step's `problem`, or have a field of that name and type");
      return "0";
    }
    reads.add(Source::problem);
    const std::string value = "problem." + identifier(field.name.value);
    if (field.count > 1) return value;
    return fmt::format("{}({})", field.kind == spec::FieldKind::f32 ? "Real" : "Integer", value);
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

// ---- the operator ------------------------------------------------------------------------------------------------------------

void print_operator(TextWriter& out, const OperatorModel& model) {
  const Spec& spec = model.spec();
  const bool has_kernels = !model.family->kernels.empty();
  out.text("constinit const OperatorInfo op = {");
  {
    const auto fields = out.indent();
    const auto more = out.indent();
    const auto field = [&](bool is_there, std::string_view name, std::string_view value) {
      if (is_there) out.line(".{} = {},", name, value);
    };
    field(true, "name", quoted(spec.name.value));
    field(true, "summary", quoted(spec.summary));
    field(spec.is_internal, "is_internal", "true");
    field(!spec.operands.empty(), "operands", "kOperands");
    field(!spec.problem.empty(), "fields", "kFields");
    field(true, "problem_bytes", "sizeof(Problem)");
    field(true, "names", "kNames");
    field(!spec.applies_when.empty(), "conditions", "kConditions");
    field(!spec.require_device.empty(), "device_conditions", "kDeviceConditions");
    field(!spec.specialization.empty(), "specialization_names", "kSpecializationNames");
    field(!spec.specialization.empty(), "specializations", "kSpecializations");
    field(has_kernels, "interfaces", "kInterfaces");
    field(has_kernels, "kernels", "kKernels");
    field(!spec.recipes.empty(), "recipes", "kRecipes");
    field(has_kernels, "form", "form");
    field(true, "value", "value");
    field(true, "first_failing", spec.applies_when.empty() ? "table::all_hold" : "first_failing");
    field(true, "first_failing_device", spec.require_device.empty() ? "table::all_hold" : "first_failing_device");
    field(has_kernels, "grid", "grid");
    field(has_kernels, "cost", "cost");
  }
  out.text("};");
  out.blank();
}

}  // namespace

std::vector<std::vector<uint32_t>> specialization_rows(const Spec& spec) {
  std::vector<std::vector<uint32_t>> rows{{}};
  for (const spec::AxisGroup& group : spec::groups_of(spec.specialization)) {
    std::vector<std::vector<uint32_t>> longer;
    for (const auto& row : rows) {
      for (size_t choice = 0; choice < group.size(); ++choice) {
        longer.push_back(row);
        for (const Axis& axis : group.axes) {
          longer.back().push_back(static_cast<uint32_t>(std::get<Integer>(axis.values[choice].value).value));
        }
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

Result<std::string> operator_tables(const OperatorModel& model, std::span<const Family> families,
                                    const Options& options) {
  const Spec& spec = model.spec();
  TextWriter out;
  out.line("// {} from {}. Do not edit.", kGeneratedMark, model.family->source);
  out.line("#include \"{}.h\"", spec.name.value);
  out.blank();
  out.text("#include \"modules.h\"");
  out.text("#include \"runtime/library/features.h\"");
  out.text("#include \"runtime/library/table_builder.h\"");
  out.blank();
  out.text(open_namespace(options, identifier(spec.name.value)));
  out.text("namespace {");
  out.blank();
  print_operands(out, spec);
  print_fields(out, spec);
  print_names(out, spec);
  print_value_function(out, spec);
  if (!spec.specialization.empty()) print_specialization_of(out, spec);
  print_conditions(out, spec, spec.applies_when, "kConditions", "first_failing");
  print_conditions(out, spec, spec.require_device, "kDeviceConditions", "first_failing_device");
  if (!model.family->kernels.empty()) {
    print_specializations(out, spec);
    print_form_function(out, spec);
    print_grid_function(out, spec);
    print_cost_function(out, spec);
    print_interfaces(out, model);
    print_kernels(out, model);
  }
  RecipePrinter recipes(out, spec, families);
  recipes.print();
  if (Diagnostics errors = recipes.take_errors(); !errors.empty()) return errors;
  out.text("}  // namespace");
  out.blank();
  print_operator(out, model);
  out.text(close_namespace(options, identifier(spec.name.value)));
  return std::move(out).take();
}

}  // namespace qgen::emit
