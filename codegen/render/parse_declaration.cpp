// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/render/declarations.h"
#include "codegen/render/directive.h"
#include "codegen/support/storage_access.h"
#include "vocabulary/layouts.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Type;

constexpr std::array<std::string_view, 9> kNames = {"declare",        "declare_bits",    "declare_blocks",
                                                    "declare_packed", "declare_problem", "declare_vectors",
                                                    "declare_words",  "extensions",      "local_size"};

// ---- arguments ------------------------------------------------------------------------------------------------------

struct Argument {
  std::string_view text;
  SourceLocation where;
};

// "a, min(b, c)" -> "a", "min(b, c)"
std::vector<Argument> split(std::string_view arguments, std::string_view whole, const SourceLocation& start) {
  std::vector<Argument> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= arguments.size(); ++i) {
    const char c = i < arguments.size() ? arguments[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < arguments.size())) continue;
    const std::string_view part = trim(arguments.substr(begin, i - begin));
    if (!part.empty() || !trim(arguments).empty()) parts.push_back({part, place_of(part, whole, start)});
    begin = i + 1;
  }
  return parts;
}

class DeclarationParser {
 public:
  DeclarationParser(std::string_view name, std::vector<Argument> arguments, SourceLocation where,
                    const spec::Spec& spec, const Names& names)
      : name_(name), arguments_(std::move(arguments)), where_(std::move(where)), spec_(spec), names_(names) {}

  Result<Declaration> parse() {
    if (name_ == "extensions") return takes(0, 0) ? Result<Declaration>(Extensions{}) : errors_;
    if (name_ == "declare_problem") return takes(0, 0) ? Result<Declaration>(DeclareProblem{}) : errors_;
    if (name_ == "declare") return takes(1, 2) ? operand(DeclareOperand::As::elements) : errors_;
    if (name_ == "declare_words") return takes(1, 2) ? operand(DeclareOperand::As::words) : errors_;
    if (name_ == "declare_vectors") return takes(1, 1) ? operand(DeclareOperand::As::vectors) : errors_;
    if (name_ == "declare_bits") return takes(1, 2) ? operand(DeclareOperand::As::bits) : errors_;
    if (name_ == "declare_packed" || name_ == "declare_blocks") return takes(1, 2) ? packed_operand() : errors_;
    return takes(1, 3) ? local_size() : errors_;
  }

 private:
  bool takes(size_t least, size_t most) {
    if (arguments_.size() >= least && arguments_.size() <= most) return true;
    const std::string range = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
    report(where_, fmt::format("'{}' takes {} arguments, and is given {}", name_, range, arguments_.size()));
    return false;
  }

  // The index of the operand that the first argument names.
  std::optional<size_t> find_operand() {
    std::vector<std::string> operands;
    for (const spec::Operand& operand : spec_.operands) operands.push_back(operand.name.value);
    const Argument& wanted = arguments_[0];
    const auto found = std::find(operands.begin(), operands.end(), wanted.text);
    if (found != operands.end()) return static_cast<size_t>(found - operands.begin());
    report(wanted.where, fmt::format("'{}' is not an operand of '{}'", wanted.text, spec_.name.value), one_of(operands),
           suggest(wanted.text, operands));
    return std::nullopt;
  }

  Result<Declaration> operand(DeclareOperand::As as) {
    const auto found = find_operand();
    if (!found) return errors_;
    DeclareOperand declaration{*found, std::nullopt, as};
    if (arguments_.size() == 2) declaration.elements = integer(arguments_[1]);
    if (!errors_.empty()) return errors_;
    return Declaration(std::move(declaration));
  }

  Result<Declaration> packed_operand() {
    const auto found = find_operand();
    if (!found) return errors_;
    const std::string& name = spec_.operands[*found].name.value;
    DeclarePacked declaration{*found, std::nullopt, name + "_sides", name_ == "declare_blocks"};
    if (!has_four(declaration.sides)) declaration.sides = "sides";
    for (const std::string& field : {name + "_strides", declaration.sides}) {
      if (!has_four(field)) {
        report(arguments_[0].where,
               fmt::format("'{}' reads problem field '{}', which '{}' lacks", name_, field, spec_.name.value),
               fmt::format("{}: u32[4]", field));
      }
    }
    if (arguments_.size() == 2) declaration.across = integer(arguments_[1]);
    if (!errors_.empty()) return errors_;
    return Declaration(std::move(declaration));
  }

  bool has_four(std::string_view field) const {
    return std::any_of(spec_.problem.begin(), spec_.problem.end(), [&](const spec::ProblemField& known) {
      return known.name.value == field && known.kind == spec::FieldKind::u32 && known.count == kDims;
    });
  }

  Result<Declaration> local_size() {
    LocalSize declaration;
    for (const Argument& side : arguments_) {
      if (const auto constant = find_constant(side.text)) {
        declaration.sides.push_back(LocalSize::Constant{*constant});
      } else if (auto value = integer(side)) {
        declaration.sides.push_back(std::move(*value));
      }
    }
    if (!errors_.empty()) return errors_;
    return Declaration(std::move(declaration));
  }

  std::optional<size_t> find_constant(std::string_view name) const {
    for (size_t i = 0; i < spec_.specialization.size(); ++i) {
      if (spec_.specialization[i].name.value == name) return i;
    }
    return std::nullopt;
  }

  std::optional<Expression> integer(const Argument& argument) {
    auto value = expression::parse(argument.text, argument.where, names_.in_text, Type::integer);
    if (value) return *value;
    append(errors_, value.error());
    return std::nullopt;
  }

  void report(const SourceLocation& where, std::string message, std::string expected = {}, std::string hint = {}) {
    errors_.push_back({where, std::move(message), std::move(expected), std::move(hint), {}});
  }

  std::string_view name_;
  std::vector<Argument> arguments_;
  SourceLocation where_;
  const spec::Spec& spec_;
  const Names& names_;
  Diagnostics errors_;
};

void add_operand(const spec::Operand& operand, const spec::Spec& spec, std::set<size_t>& used) {
  const auto add = [&](const spec::Choice& choice) {
    if (choice.is_parameter) used.insert(place_of_parameter(spec, choice.word));
  };
  add(operand.dtype);
  add(operand.storage);
  if (operand.layout) add(*operand.layout);
}

}  // namespace

std::span<const std::string_view> declaration_names() { return kNames; }

std::optional<Result<Declaration>> parse_declaration(std::string_view text, const SourceLocation& start,
                                                     const spec::Spec& spec, const Names& names) {
  const std::string_view call = trim(text);
  const size_t open = call.find('(');
  if (open == call.npos || !call.ends_with(')')) return std::nullopt;
  const std::string_view name = trim(call.substr(0, open));
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return std::nullopt;
  const std::string_view arguments = call.substr(open + 1, call.size() - open - 2);
  return DeclarationParser(name, split(arguments, text, start), place_of(call, text, start), spec, names).parse();
}

std::vector<Expression> arguments_of(const Declaration& declaration) {
  std::vector<Expression> arguments;
  if (const auto* declare = std::get_if<DeclareOperand>(&declaration); declare && declare->elements) {
    arguments.push_back(*declare->elements);
  }
  if (const auto* packed = std::get_if<DeclarePacked>(&declaration); packed && packed->across) {
    arguments.push_back(*packed->across);
  }
  if (const auto* size = std::get_if<LocalSize>(&declaration)) {
    for (const auto& side : size->sides) {
      if (const auto* expression = std::get_if<Expression>(&side)) arguments.push_back(*expression);
    }
  }
  return arguments;
}

std::set<size_t> names_used(const Declaration& declaration, const spec::Spec& spec) {
  std::set<size_t> used;
  if (std::holds_alternative<Extensions>(declaration)) {
    for (const spec::Operand& operand : spec.operands) add_operand(operand, spec, used);
    for (const spec::Axis& axis : spec.parameters) {
      if (axis.name.value == kStorageAccess) used.insert(place_of_parameter(spec, axis.name.value));
    }
  }
  if (const auto* declare = std::get_if<DeclareOperand>(&declaration)) {
    add_operand(spec.operands[declare->operand], spec, used);
  }
  if (const auto* packed = std::get_if<DeclarePacked>(&declaration)) {
    add_operand(spec.operands[packed->operand], spec, used);
  }
  if (const auto* size = std::get_if<LocalSize>(&declaration)) {
    for (const auto& side : size->sides) {
      const auto* constant = std::get_if<LocalSize::Constant>(&side);
      if (constant) used.insert(place_of_constant(spec, constant->index));
    }
  }
  return used;
}

}  // namespace qgen::render
