// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What an operator's expressions speak of: names with the words they may have, and their values, so that the runtime
// can say of a condition that failed "width 1023 is not a multiple of vec 4".
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/products.h"
#include "codegen/spec/axes.h"

namespace qgen::emit {
namespace {

using expression::Symbol;
using spec::Axis;
using spec::Spec;

bool is_own(const Spec& spec, const Symbol& symbol) { return source_of(spec, symbol.name) != Source::device; }

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

// The array that spells what the name can be.
std::string words_of(const Spec& spec, const Symbol& symbol) {
  if (symbol.type != expression::Type::word) return "{}";
  const Axis* axis = find_axis(spec.parameters, symbol.name);
  return axis ? words_array(*axis) : words_array(find_field(spec, symbol.name)->word_set);
}

std::string name_row(const Spec& spec, const Symbol& symbol) {
  return fmt::format("{{{}, {}}},", quoted(symbol.name), words_of(spec, symbol));
}

std::string value_of(const Spec& spec, const Symbol& symbol) {
  switch (source_of(spec, symbol.name)) {
    case Source::specialization:
      return fmt::format("scope.specialization[{}]", specialization_index(spec, symbol.name));
    case Source::parameter: {
      const std::string value = "parameters->" + identifier(symbol.name);
      if (symbol.type == expression::Type::word) return fmt::format("table::word({})", value);
      return symbol.type == expression::Type::boolean ? value + " ? 1 : 0" : value;
    }
    case Source::problem: {
      const std::string value = "problem->" + identifier(symbol.name);
      if (symbol.type == expression::Type::word) return fmt::format("table::word({}.get())", value);
      return symbol.type == expression::Type::real ? fmt::format("table::truncated({})", value)
                                                   : fmt::format("Integer({})", value);
    }
    case Source::device: break;
  }
  return "";
}

}  // namespace

void print_names(TextWriter& out, const Spec& spec) {
  std::vector<Symbol> own;
  std::copy_if(spec.scope.symbols().begin(), spec.scope.symbols().end(), std::back_inserter(own),
               [&](const Symbol& symbol) { return is_own(spec, symbol); });
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
        if (is_own(spec, symbol))
          out.line("case Name::{}: return {};", identifier(symbol.name), value_of(spec, symbol));
      }
      out.text("case Name::kDevice: break;");
    }
    out.text("}");
    out.text("return table::device_value(name - static_cast<size_t>(Name::kDevice), *scope.device);");
  }
  out.text("}");
  out.blank();
}

}  // namespace qgen::emit
