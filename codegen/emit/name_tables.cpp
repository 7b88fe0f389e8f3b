// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints the names that an operator's expressions use, with their possible words and their values. With them the
// runtime explains a failed condition: "width 1023 is not a multiple of vec 4". Only an operator's parameters and
// specialization constants are printed here. Problem fields and device numbers already have tables, which
// table_builder.h appends.
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

std::vector<Symbol> symbols_from(const Spec& spec, std::initializer_list<Source> sources) {
  std::vector<Symbol> symbols;
  std::ranges::copy_if(spec.scope.symbols(), std::back_inserter(symbols), [&](const Symbol& symbol) {
    return std::ranges::find(sources, source_of(spec, symbol.name)) != sources.end();
  });
  return symbols;
}

std::vector<Symbol> own_symbols(const Spec& spec) {
  return symbols_from(spec, {Source::parameter, Source::specialization});
}

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
  const bool is_word = symbol.type == expression::Type::word;
  return fmt::format("{{{}, {}}},", quoted(symbol.name),
                     is_word ? words_array(*find_axis(spec.parameters, symbol.name)) : "{}");
}

std::string value_of(const Spec& spec, const Symbol& symbol) {
  if (source_of(spec, symbol.name) == Source::specialization) {
    return fmt::format("scope.specialization[{}]", specialization_index(spec, symbol.name));
  }
  const std::string value = "parameters->" + identifier(symbol.name);
  if (symbol.type == expression::Type::word) return fmt::format("table::word({})", value);
  return symbol.type == expression::Type::boolean ? value + " ? 1 : 0" : value;
}

std::string_view fields_of(const Spec& spec) { return spec.problem.empty() ? "table::kNoFields" : "kFields"; }

void print_name_enum(TextWriter& out, const Spec& spec) {
  out.text("// What expressions speak of; behind these, the numbers of the device.");
  out.text("enum class Name : uint16_t {");
  {
    const auto indented = out.indent();
    for (const Symbol& symbol : symbols_from(spec, {Source::parameter, Source::specialization, Source::problem})) {
      out.line("{},", identifier(symbol.name));
    }
    out.text("kDevice,");
  }
  out.text("};");
  out.blank();
}

}  // namespace

void print_names(TextWriter& out, const Spec& spec) {
  print_name_enum(out, spec);
  print_own_words(out, spec);
  const std::vector<Symbol> own = own_symbols(spec);
  if (own.empty()) {
    out.line("constexpr auto kNames = table::names<{}>();", fields_of(spec));
  } else {
    out.line("constexpr auto kNames = table::names<{}>({{", fields_of(spec));
    {
      const auto indented = out.indent();
      for (const Symbol& symbol : own) out.text(name_row(spec, symbol));
    }
    out.text("});");
  }
  out.blank();
}

void print_value_function(TextWriter& out, const Spec& spec) {
  const std::vector<Symbol> own = own_symbols(spec);
  out.text("Integer value(size_t name, const SelectionScope& scope) {");
  {
    const auto indented = out.indent();
    const bool has_values = spec.template_path && !spec.parameters.empty();
    if (has_values) out.text("const auto* parameters = static_cast<const Parameters*>(scope.parameters);");
    if (!own.empty()) {
      out.text("switch (static_cast<Name>(name)) {");
      {
        const auto cases = out.indent();
        for (const Symbol& symbol : own) {
          out.line("case Name::{}: return {};", identifier(symbol.name), value_of(spec, symbol));
        }
        out.text("default: break;");
      }
      out.text("}");
    }
    const std::string behind = own.empty() ? "name" : fmt::format("name - {}", own.size());
    out.line("return table::value_behind_own({}, {}, scope);", behind, fields_of(spec));
  }
  out.text("}");
  out.blank();
}

}  // namespace qgen::emit
