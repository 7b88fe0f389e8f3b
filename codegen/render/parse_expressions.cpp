// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/render/directive.h"
#include "codegen/render/parse_state.h"

namespace qgen::render {
namespace {

using expression::Expression;

std::vector<std::string> strings(std::span<const std::string_view> views) { return {views.begin(), views.end()}; }

bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `${2 * workgroup}` fails, since a constant is a text here; the way out is not plain from that alone.
Diagnostics with_constant_hint(Diagnostics errors, std::string_view text, const Names& names) {
  const auto as_number = expression::parse(text, {}, names.in_directive);
  if (!as_number) return errors;
  for (const size_t index : expression::symbols_of(*as_number)) {
    if (names.roles[index] != Role::specialization) continue;
    errors.front().hint =
        fmt::format("'{0}' is a specialization constant, so only GLSL can compute with it: write ${{{0}}} alone",
                    names.in_text.symbols()[index].name);
  }
  return errors;
}

}  // namespace

std::optional<Expression> ExpressionReader::in_directive(std::string_view text, const SourceLocation& where,
                                                         const Names& names, std::optional<expression::Type> wanted) {
  auto parsed = expression::parse(text, where, names.in_directive, wanted);
  if (!parsed) return report_all(parsed.error()), std::nullopt;
  note_uses(*parsed, names, Place::directive);
  return *std::move(parsed);
}

std::optional<Substitution> ExpressionReader::in_text(std::string_view text, const SourceLocation& where,
                                                      const Names& names) {
  if (auto declaration = parse_declaration(text, where, state_.spec, names)) {
    if (!*declaration) return report_all(declaration->error()), std::nullopt;
    state_.used.merge(names_used(**declaration, state_.spec));
    for (const Expression& argument : arguments_of(**declaration)) note_uses(argument, names, Place::text);
    return Substitution{std::move(**declaration), where};
  }
  if (report_unknown_function(text, where, names)) return std::nullopt;
  auto parsed = expression::parse(text, where, names.in_text);
  if (!parsed) return report_all(with_constant_hint(parsed.error(), text, names)), std::nullopt;
  note_uses(*parsed, names, Place::text);
  return Substitution{*std::move(parsed), where};
}

void ExpressionReader::note_uses(const Expression& expression, const Names& names, Place place) {
  for (const auto& use : expression::uses_of(expression)) {
    state_.used.insert(use.symbol);
    check_use(use, names, place);
  }
}

// Of names that have no value when a variant is rendered.
void ExpressionReader::check_use(const expression::SymbolUse& use, const Names& names, Place place) {
  const std::string& name = names.in_directive.symbols()[use.symbol].name;
  const auto fault = [&](std::string message, std::string hint) {
    report(state_, file_, use.where, std::move(message), "a parameter", std::move(hint));
  };
  switch (names.roles[use.symbol]) {
    case Role::parameter:
    case Role::operand:
    case Role::loop_variable: return;
    case Role::specialization:
      if (place == Place::text) return;
      return fault(fmt::format("'{}' is a specialization constant: it has no value before the pipeline is made", name),
                   "branch on it in GLSL, or move it from 'specialization' to 'parameters'");
    case Role::problem_field:
      return fault(fmt::format("'{}' is a problem field: it has no value before the kernel runs", name),
                   fmt::format("GLSL reads it as problem.{}", name));
    case Role::device_number:
      return fault(fmt::format("'{}' has no value before the kernel is chosen", name),
                   "write conditions on the device in the spec, under require_device");
  }
}

// The expression room does not know the declarations, and so could not list or suggest them.
bool ExpressionReader::report_unknown_function(std::string_view text, const SourceLocation& where, const Names& names) {
  const std::string_view call = trim(text);
  const std::string_view name = leading_name(call);
  if (name.empty() || !trim(call.substr(name.size())).starts_with('(')) return false;
  constexpr std::array<std::string_view, 4> kOperators = {"and", "or", "not", "in"};
  std::vector<std::string> known = expression::builtin_functions();
  for (const auto& function : names.in_text.functions()) known.push_back(function.name);
  if (holds(known, name) || holds(strings(kOperators), name)) return false;
  const auto declarations = strings(declaration_names());
  if (holds(declarations, name)) {
    report(state_, file_, place_of(call, text, where), fmt::format("'{}(...)' must be alone in its ${{}}", name));
    return true;
  }
  known.insert(known.end(), declarations.begin(), declarations.end());
  report(state_, file_, place_of(name, text, where), fmt::format("unknown function '{}'", name), one_of(known),
         suggest(name, known));
  return true;
}

void ExpressionReader::report_all(Diagnostics errors) {
  for (Diagnostic& error : errors) report(state_, file_, std::move(error));
}

}  // namespace qgen::render
