// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/render/directive.h"
#include "codegen/render/glsl.h"
#include "codegen/render/packed_operand.h"
#include "codegen/spec/axes.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Type;
using expression::Value;

constexpr std::array<std::string_view, 5> kNames = {"declare", "declare_packed", "declare_problem", "extensions", "local_size"};
constexpr size_t kPushConstantBytes = 128;  // what every Vulkan device has

// ---- arguments -------------------------------------------------------------------------------------------------------

struct Argument {
  std::string_view text;
  SourceLocation where;
};

SourceLocation place(const SourceLocation& start, std::string_view whole, std::string_view part) {
  SourceLocation where = start;
  where.column += static_cast<uint32_t>(part.data() - whole.data());
  where.length = static_cast<uint32_t>(part.size());
  return where;
}

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
    if (!part.empty() || !trim(arguments).empty()) parts.push_back({part, place(start, whole, part)});
    begin = i + 1;
  }
  return parts;
}

class DeclarationParser {
 public:
  DeclarationParser(std::string_view name, std::vector<Argument> arguments, SourceLocation where, const spec::Spec& spec,
                    const Names& names)
      : name_(name), arguments_(std::move(arguments)), where_(std::move(where)), spec_(spec), names_(names) {}

  Result<Declaration> parse() {
    if (name_ == "extensions") return takes(0, 0) ? Result<Declaration>(Extensions{}) : errors_;
    if (name_ == "declare_problem") return takes(0, 0) ? Result<Declaration>(DeclareProblem{}) : errors_;
    if (name_ == "declare") return takes(1, 2) ? operand() : errors_;
    if (name_ == "declare_packed") return takes(1, 2) ? packed_operand() : errors_;
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
    report(wanted.where, fmt::format("'{}' is no operand of '{}'", wanted.text, spec_.name.value),
           operands.empty() ? "" : "one of " + join_sorted(operands), suggest(wanted.text, operands));
    return std::nullopt;
  }

  Result<Declaration> operand() {
    const auto found = find_operand();
    if (!found) return errors_;
    DeclareOperand declaration{*found, std::nullopt};
    if (arguments_.size() == 2) declaration.elements = integer(arguments_[1]);
    if (!errors_.empty()) return errors_;
    return Declaration(std::move(declaration));
  }

  Result<Declaration> packed_operand() {
    const auto found = find_operand();
    if (!found) return errors_;
    const std::string& name = spec_.operands[*found].name.value;
    DeclarePacked declaration{*found, std::nullopt, name + "_sides"};
    if (!has_four(declaration.sides)) declaration.sides = "sides";
    for (const std::string& field : {name + "_strides", declaration.sides}) {
      if (!has_four(field)) {
        report(arguments_[0].where, fmt::format("'declare_packed' reads problem field '{}', which '{}' lacks", field, spec_.name.value),
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

// ---- what an operand is, in one variant ------------------------------------------------------------------------------

size_t index_of_parameter(const Names& names, const spec::Spec& spec, std::string_view name) {
  for (size_t i = 0; i < names.roles.size(); ++i) {
    if (names.roles[i] == Role::parameter && spec.parameters[names.role_index[i]].name.value == name) return i;
  }
  return names.roles.size();
}

class Printer {
 public:
  Printer(const spec::Spec& spec, std::span<const Value> environment, const Names& names)
      : spec_(spec), environment_(environment), names_(names) {}

  std::string operator()(const Extensions&) const {
    std::set<std::string_view> extensions;
    for (const spec::Operand& operand : spec_.operands) {
      const auto dtype = expression::find_dtype(word_of(operand.dtype));
      if (!dtype) continue;
      for (const std::string_view extension : extensions_of(*dtype, storage_of(operand))) extensions.insert(extension);
    }
    std::string lines;
    for (const std::string_view extension : extensions) {
      lines += fmt::format("{}#extension {} : require", lines.empty() ? "" : "\n", extension);
    }
    return lines;
  }

  std::string operator()(const DeclareProblem&) const {
    size_t bytes = 0;
    std::string fields;
    for (const spec::ProblemField& field : spec_.problem) {
      bytes += 4 * field.count;  // every kind is of four bytes, so std430 packs them without gaps
      const std::string count = field.count == 1 ? "" : fmt::format("[{}]", field.count);
      fields += fmt::format(" {} {}{};", glsl_type(field.kind), field.name.value, count);
    }
    if (spec_.problem.empty()) return "";
    if (bytes <= kPushConstantBytes) {
      return fmt::format("layout(push_constant, std430) uniform Problem {{{} }} problem;", fields);
    }
    return fmt::format("layout(set = 0, binding = {}, std430) readonly restrict buffer ProblemBuffer {{{} }} problem;",
                       spec_.operands.size(), fields);
  }

  std::string operator()(const DeclareOperand& declaration) const {
    const spec::Operand& operand = spec_.operands[declaration.operand];
    const auto dtype = expression::find_dtype(word_of(operand.dtype));
    if (!dtype) return failure(fmt::format("operand '{}' has no dtype", operand.name.value));
    if (storage_of(operand) == Storage::texture3d) {
      return fmt::format("layout(set = 0, binding = {}, {}) uniform {}restrict {} {}_image;", declaration.operand,
                         image_format(*dtype), qualifier(operand.access), image_type(*dtype), operand.name.value);
    }
    const int64_t elements =
        declaration.elements ? std::get<Integer>(expression::evaluate(*declaration.elements, environment_)).value : 1;
    const auto type = elements == 3 ? std::nullopt : vector_type(*dtype, elements);
    if (!type) {
      return failure(fmt::format("a buffer holds elements by 1, 2 or 4, and '{}' is declared by {}", operand.name.value,
                                 elements));
    }
    return fmt::format("layout(set = 0, binding = {}, std430) {}restrict buffer {}Buffer {{ {} {}_data[]; }};",
                       declaration.operand, qualifier(operand.access), camel_case(operand.name.value), *type,
                       operand.name.value);
  }

  std::string operator()(const DeclarePacked& declaration) const {
    const spec::Operand& operand = spec_.operands[declaration.operand];
    const std::string& name = operand.name.value;
    const auto dtype = expression::find_dtype(word_of(operand.dtype));
    const auto layout = operand.layout ? find_layout(word_of(*operand.layout)) : Layout::strided;
    if (!dtype || bytes(*dtype) != 1 || !layout || info(*layout).storage != Storage::buffer) {
      return failure(fmt::format("operand '{}' is no buffer of i8 or u8 in a layout of buffers", name));
    }
    PackedOperand described{name, declaration.operand, operand.access, *dtype, *layout, declaration.sides, std::nullopt};
    if (!declaration.across) return render::print(described);
    const int64_t across = std::get<Integer>(expression::evaluate(*declaration.across, environment_)).value;
    if (across < 0 || across >= static_cast<int64_t>(Dim::batch) || across == packed(*layout)) {
      return failure(fmt::format("rows of '{}' lie along width 0, height 1 or channels 2, not along what a word packs, and "
                                 "{} is given", name, across));
    }
    described.across = static_cast<Dim>(across);
    return render::print(described);
  }

  // A specialized side has its first value as well: the module is then whole without specialization.
  std::string operator()(const LocalSize& declaration) const {
    std::string sides;
    for (size_t i = 0; i < declaration.sides.size(); ++i) {
      const char axis = "xyz"[i];
      if (i != 0) sides += ", ";
      if (const auto* constant = std::get_if<LocalSize::Constant>(&declaration.sides[i])) {
        sides += fmt::format("local_size_{0} = {1}, local_size_{0}_id = {2}", axis,
                             expression::to_text(spec_.specialization[constant->index].values.front().value),
                             constant->index);
        continue;
      }
      const auto& expression = std::get<Expression>(declaration.sides[i]);
      const int64_t side = std::get<Integer>(expression::evaluate(expression, environment_)).value;
      if (side < 1) return failure(fmt::format("a workgroup has no side of {} invocations", side));
      sides += fmt::format("local_size_{} = {}", axis, side);
    }
    return fmt::format("layout({}) in;", sides);
  }

 private:
  std::string word_of(const spec::Choice& choice) const {
    if (!choice.is_parameter) return choice.word;
    const size_t index = index_of_parameter(names_, spec_, choice.word);
    return index < environment_.size() ? expression::to_text(environment_[index]) : "";
  }
  Storage storage_of(const spec::Operand& operand) const {
    return word_of(operand.storage) == name(Storage::texture3d) ? Storage::texture3d : Storage::buffer;
  }

  static std::string_view glsl_type(spec::FieldKind kind) {
    switch (kind) {
      case spec::FieldKind::u32: return "uint";
      case spec::FieldKind::i32: return "int";
      case spec::FieldKind::f32: return "float";
    }
    return "";
  }

  const spec::Spec& spec_;
  std::span<const Value> environment_;
  const Names& names_;
};

void add_operand(const spec::Operand& operand, const spec::Spec& spec, const Names& names, std::set<size_t>& used) {
  const auto add = [&](const spec::Choice& choice) {
    if (choice.is_parameter) used.insert(index_of_parameter(names, spec, choice.word));
  };
  add(operand.dtype);
  add(operand.storage);
  if (operand.layout) add(*operand.layout);
}

size_t place_of_constant(const Names& names, size_t constant) {
  for (size_t i = 0; i < names.roles.size(); ++i) {
    if (names.roles[i] == Role::specialization && names.role_index[i] == constant) return i;
  }
  return names.roles.size();
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
  return DeclarationParser(name, split(arguments, text, start), place(start, text, call), spec, names).parse();
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

std::set<size_t> names_used(const Declaration& declaration, const spec::Spec& spec, const Names& names) {
  std::set<size_t> used;
  if (std::holds_alternative<Extensions>(declaration)) {
    for (const spec::Operand& operand : spec.operands) add_operand(operand, spec, names, used);
  }
  if (const auto* declare = std::get_if<DeclareOperand>(&declaration)) {
    add_operand(spec.operands[declare->operand], spec, names, used);
  }
  if (const auto* packed = std::get_if<DeclarePacked>(&declaration)) {
    add_operand(spec.operands[packed->operand], spec, names, used);
  }
  if (const auto* size = std::get_if<LocalSize>(&declaration)) {
    for (const auto& side : size->sides) {
      const auto* constant = std::get_if<LocalSize::Constant>(&side);
      if (constant) used.insert(place_of_constant(names, constant->index));
    }
  }
  return used;
}

std::string print(const Declaration& declaration, const spec::Spec& spec, std::span<const Value> environment,
                  const Names& names) {
  return std::visit(Printer(spec, environment, names), declaration);
}

std::string constant_declaration(const spec::Spec& spec, size_t index) {
  const spec::Axis& axis = spec.specialization[index];
  return fmt::format("layout(constant_id = {}) const uint {} = {}u;", index, spec::glsl_name(axis),
                     expression::to_text(axis.values.front().value));
}

}  // namespace qgen::render
