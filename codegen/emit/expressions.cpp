// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/emit/expressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <map>

#include "codegen/emit/cpp_names.h"

namespace qgen::emit {
namespace {

using expression::Expression;
using expression::Symbol;
using spec::Spec;

constexpr std::string_view kDevicePrefix = "device.";

std::string read_symbol(const Spec& spec, const Symbol& symbol) {
  switch (source_of(spec, symbol.name)) {
    case Source::device: return symbol.name;
    case Source::parameter: return "parameters." + identifier(symbol.name);
    case Source::problem: return "problem." + member_of_problem(*find_field(spec, symbol.name));
    case Source::fit: return "fit." + identifier(symbol.name);
    case Source::specialization: break;
  }
  const std::string value = "specialization." + identifier(symbol.name);
  return symbol.type == expression::Type::boolean ? fmt::format("({} != 0)", value) : value;
}

// Names that generated functions of expressions already use.
constexpr std::string_view kTaken[] = {"parameters", "specialization", "problem",      "device", "fit",
                                       "scope",      "groups",         "to",           "table",  "min",
                                       "max",        "ceil_div",       "choose",       "bytes",  "packed",
                                       "Integer",    "Real",           "step_problem", "kernel", "kernels"};

// The variable that holds a definition.
std::string local(std::string_view definition) {
  std::string name = identifier(definition);
  return std::ranges::find(kTaken, name) == std::end(kTaken) ? name : name + "_";
}

std::string name_list(const Spec& spec, const Expression& expression) {
  std::vector<std::string> names;
  for (const size_t index : expression::symbols_of(expression)) {
    const std::string& name = spec.scope.symbols()[index].name;
    names.push_back(
        name.starts_with(kDevicePrefix)
            ? fmt::format("table::after(Name::kDevice, table::DeviceNumber::{})", name.substr(kDevicePrefix.size()))
            : "Name::" + identifier(name));
  }
  return names.empty() ? "{}" : fmt::format("table::kNamesOf<{}>", fmt::join(names, ", "));
}

// `RESULT NAME(const SelectionScope& scope) { return table::JOIN({EXPRESSION, ...}); }`
void print_function_of_all(TextWriter& out, const Spec& spec, std::string_view result_and_name, std::string_view join,
                           const std::vector<Expression>& expressions) {
  Reads reads(spec);
  for (const Expression& expression : expressions) reads.add(expression);
  out.line("{}(const SelectionScope&{}) {{", result_and_name, reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    out.line("return table::{}({{", join);
    {
      const auto rows = out.indent();
      const auto more = out.indent();
      for (const Expression& expression : expressions) out.code(as_cpp(spec, expression) + ",");
    }
    out.text("});");
  }
  out.text("}");
  out.blank();
}

// The list of architectures of an item: "kOnHopper".
std::string list_of(const spec::RarelyBest& row) {
  std::string name = "kOn";
  for (const auto& architecture : row.on) name += spec::pascal_case(architecture.value);
  return name;
}

// Each list once.
void print_architectures(TextWriter& out, const std::vector<spec::RarelyBest>& rows) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const auto& row : rows) {
    std::vector<std::string> names;
    for (const auto& architecture : row.on) names.push_back(quoted(architecture.value));
    lists.emplace(list_of(row), std::move(names));
  }
  for (const auto& [list, names] : lists)
    out.line("constexpr std::string_view {}[] = {{{}}};", list, fmt::join(names, ", "));
}

}  // namespace

std::string_view cpp_type(expression::Type type) {
  switch (type) {
    case expression::Type::boolean: return "bool";
    case expression::Type::integer: return "Integer";
    case expression::Type::real: return "Real";
    case expression::Type::word:
    case expression::Type::text: break;
  }
  assert(false && "a definition that is a word stands for a name, and needs no variable");
  return "auto";
}

Source source_of(const Spec& spec, std::string_view name) {
  if (name.starts_with(kDevicePrefix)) return Source::device;
  if (find_axis(spec.parameters, name)) return Source::parameter;
  if (find_axis(spec.specialization, name)) return Source::specialization;
  const bool is_fit = std::ranges::any_of(spec.fit, [&](const auto& constant) { return constant.name.value == name; });
  return is_fit ? Source::fit : Source::problem;
}

size_t specialization_index(const Spec& spec, std::string_view name) {
  return static_cast<size_t>(find_axis(spec.specialization, name) - spec.specialization.data());
}

void Reads::add(const Expression& expression) {
  for (const size_t symbol : expression::symbols_of(expression)) {
    sources_.insert(source_of(spec_, spec_.scope.symbols()[symbol].name));
  }
  definitions_.merge(expression::definitions_of(expression));
}

std::vector<std::string> Reads::lines() const {
  std::vector<std::string> lines;
  if (has(Source::parameter)) lines.push_back("const auto& parameters = table::parameters<Parameters>(scope);");
  if (has(Source::specialization)) lines.push_back("const auto specialization = specialization_of(scope);");
  if (has(Source::problem)) lines.push_back("const auto& problem = table::problem<Problem>(scope);");
  if (has(Source::device)) lines.push_back("const auto& device = *scope.device;");
  if (has(Source::fit)) lines.push_back("const Fit fit = fit_of(scope);");
  for (const auto& [name, meaning] : spec_.scope.definitions()) {  // each reads those above it
    if (definitions_.count(name) == 0) continue;
    lines.push_back(fmt::format("const {} {} = {};", cpp_type(meaning.type()), local(name), as_cpp(spec_, meaning)));
  }
  return lines;
}

void Reads::print(TextWriter& out) const {
  for (const std::string& line : lines()) out.code(line);
}

expression::CppPrinter cpp_printer(const Spec& spec) {
  return {.print_symbol = [&](const Symbol& symbol) { return read_symbol(spec, symbol); },
          .print_word =
              [&](const Symbol& compared_with, std::string_view word) {
                const spec::Axis* axis = find_axis(spec.parameters, compared_with.name);
                return axis ? cpp_word(*axis, word) : cpp_word(*find_field(spec, compared_with.name), word);
              },
          .print_definition = local};
}

std::string as_cpp(const Spec& spec, const Expression& expression) {
  return expression::to_cpp(expression, spec.scope, cpp_printer(spec));
}

void print_function(TextWriter& out, const Spec& spec, std::string_view result, std::string_view name,
                    const Expression& expression) {
  Reads reads(spec);
  reads.add(expression);
  out.line("{} {}(const SelectionScope&{}) {{", result, name, reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    out.code(fmt::format("return {};", as_cpp(spec, expression)));
  }
  out.text("}");
  out.blank();
}

void print_conditions(TextWriter& out, const Spec& spec, const std::vector<spec::Condition>& conditions,
                      std::string_view table, std::string_view function) {
  if (conditions.empty()) return;
  out.line("constexpr ConditionInfo {}[] = {{", table);
  {
    const auto indented = out.indent();
    for (const auto& condition : conditions) {
      out.code(fmt::format("{{{}, {}}},", quoted(condition.text), name_list(spec, condition.expression)));
    }
  }
  out.text("};");
  out.blank();
  std::vector<Expression> expressions;
  for (const auto& condition : conditions) expressions.push_back(condition.expression);
  print_function_of_all(out, spec, fmt::format("int {}", function), "first_false", expressions);
}

void print_rarely_best(TextWriter& out, const Spec& spec) {
  if (spec.rarely_best.empty()) return;
  print_architectures(out, spec.rarely_best);
  std::vector<Expression> expressions;
  out.text("constexpr RarelyBestInfo kRarelyBest[] = {");
  {
    const auto indented = out.indent();
    for (const auto& row : spec.rarely_best) {
      out.code(fmt::format("{{{}, {}, {}}},", quoted(row.when.text), list_of(row), quoted(row.because)));
      expressions.push_back(row.when.expression);
    }
  }
  out.text("};");
  out.blank();
  print_function_of_all(out, spec, "uint64_t rarely_best_when", "bits_of", expressions);
}

}  // namespace qgen::emit
