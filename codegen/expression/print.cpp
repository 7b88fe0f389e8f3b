// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An expression as text, twice: in its own language, with the fewest parentheses, and as C++.
//
// In C++ the operators have a different precedence (`!` binds tightest), and compilers warn in unclear cases. So the
// C++ form has a few more parentheses. Symbols are wrapped in Integer or Real, and every operator has an operand of one
// of these types. An integer literal next to it may stay bare. A real literal may not, since Integer * 0.5 would choose
// Integer's operator and truncate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

Binding tighter(Binding binding) { return static_cast<Binding>(static_cast<int>(binding) + 1); }
std::string parenthesized(std::string text, bool is_needed) { return is_needed ? fmt::format("({})", text) : text; }

// ---- the language itself

std::string print(const Node& node);

std::string print_at(const Node& node, Binding least) {
  return parenthesized(print(node), row(node.op).binding < least);
}

std::string print_list(std::span<const std::unique_ptr<Node>> nodes, Binding least) {
  std::string text;
  for (const auto& node : nodes) {
    if (!text.empty()) text += ", ";
    text += print_at(*node, least);
  }
  return parenthesized(text, true);
}

// `and` and `or` may be regrouped freely; a saturating sum may not, so its right operand keeps its parentheses.
// Comparisons do not chain on either side.
std::string print_binary(const Node& node) {
  const OpRow& op = row(node.op);
  const bool is_logic = op.binding == Binding::disjunction || op.binding == Binding::conjunction;
  const Binding left = op.binding == Binding::comparison ? Binding::sum : op.binding;
  const Binding right = is_logic ? op.binding : tighter(op.binding);
  return fmt::format("{} {} {}", print_at(*node.operands[0], left), op.text, print_at(*node.operands[1], right));
}

std::string print(const Node& node) {
  const OpRow& op = row(node.op);
  switch (node.op) {
    case Op::literal: return to_text(node.value);
    case Op::symbol:
    case Op::word: return node.name;
    case Op::call: return node.name + print_list(node.operands, Binding::disjunction);
    case Op::ceil_div:
    case Op::min:
    case Op::max:
    case Op::bytes:
    case Op::packed:
    case Op::choose: return std::string(op.text) + print_list(node.operands, Binding::disjunction);
    case Op::logical_not: return fmt::format("not {}", print_at(*node.operands[0], Binding::negation));
    case Op::negate: return fmt::format("-{}", print_at(*node.operands[0], Binding::sign));
    case Op::in:
      return print_at(*node.operands[0], Binding::sum) + " in " +
             print_list(std::span(node.operands).subspan(1), Binding::sum);
    case Op::logical_or:
    case Op::logical_and:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::remainder: return print_binary(node);
  }
  return "";
}

// ---- C++

class CppWriter {
 public:
  CppWriter(const Scope& scope, const CppPrinter& printer) : scope_(scope), printer_(printer) {}

  std::string print(const Node& node) const {
    if (is_variable(node)) return printer_.print_definition(node.definition);
    switch (node.op) {
      case Op::literal: return literal(node, false);
      case Op::symbol: return symbol(node);
      case Op::word: return "";  // printed by whom it is compared with
      case Op::bytes:
      case Op::packed: return fact(node.op, *node.operands[0]);
      case Op::logical_not: return fmt::format("!{}", print_at(*node.operands[0], Binding::primary));
      case Op::negate: return fmt::format("-{}", print_at(*node.operands[0], Binding::primary));
      case Op::in: return membership(node);
      case Op::ceil_div:
      case Op::min:
      case Op::max: return function(node);
      case Op::choose: return choice(node);
      case Op::call: break;
      case Op::logical_or:
      case Op::logical_and:
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal:
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::remainder: return binary(node);
    }
    assert(false && "functions of a scope belong to templates and are never printed as C++");
    return "";
  }

 private:
  std::string print_at(const Node& node, Binding least) const {
    return parenthesized(print(node), binding_of(node) < least);
  }

  static bool is_variable(const Node& node) { return !node.definition.empty() && !is_leaf(node); }

  // What `in`, and a comparison of two word symbols, become is a disjunction.
  static Binding binding_of(const Node& node) {
    if (is_variable(node)) return Binding::primary;
    return node.op == Op::in && node.operands.size() > 2 ? Binding::disjunction : row(node.op).binding;
  }

  static std::string literal(const Node& node, bool has_typed_neighbour) {
    const std::string text = to_text(node.value);
    if (node.type == Type::boolean || (has_typed_neighbour && node.type == Type::integer)) return text;
    return fmt::format("{}({})", node.type == Type::integer ? "Integer" : "Real", text);
  }

  const Symbol& symbol_of(const Node& node) const { return scope_.symbols()[node.symbol]; }

  std::string symbol(const Node& node) const {
    const std::string read = printer_.print_symbol(symbol_of(node));
    if (node.type == Type::integer) return fmt::format("Integer({})", read);
    if (node.type == Type::real) return fmt::format("Real({})", read);
    return read;
  }

  // Operands are printed into a list, since C++ evaluates a list's elements in order, and function arguments in any
  // order. The printer's calls then follow the text.
  static std::string infix(std::string_view op, const std::vector<std::string>& operands) {
    return fmt::format("{}", fmt::join(operands, fmt::format(" {} ", op)));
  }
  static std::string call(std::string_view function, const std::vector<std::string>& arguments) {
    return fmt::format("{}({})", function, fmt::join(arguments, ", "));
  }

  // One of two operands: a literal may stand bare if the other is none.
  std::string operand(const Node& node, const Node& other, Binding least) const {
    if (node.op == Op::literal) return literal(node, other.op != Op::literal);
    return print_at(node, least);
  }

  std::string binary(const Node& node) const {
    if (node.operands[0]->type == Type::word)
      return same_word(*node.operands[0], *node.operands[1], node.op == Op::equal);
    const Node& left = *node.operands[0];
    const Node& right = *node.operands[1];
    const OpRow& op = row(node.op);
    if (op.binding <= Binding::conjunction) {
      return infix(op.cpp, {logical_operand(left, node.op), logical_operand(right, node.op)});
    }
    const Binding least = op.binding == Binding::comparison ? Binding::sum : op.binding;
    return infix(op.cpp, {operand(left, right, least), operand(right, left, tighter(op.binding))});
  }

  // `a && b || c` is right and warned about: under the one operator, the other is wrapped.
  std::string logical_operand(const Node& inner, Op outer) const {
    const bool is_other = binding_of(inner) <= Binding::conjunction && inner.op != outer;
    return parenthesized(print(inner), is_other);
  }

  std::string function(const Node& node) const {
    return call(row(node.op).cpp, {operand(*node.operands[0], *node.operands[1], Binding::disjunction),
                                   operand(*node.operands[1], *node.operands[0], Binding::disjunction)});
  }

  std::string choice(const Node& node) const {
    return call(row(node.op).cpp,
                {print(*node.operands[0]), operand(*node.operands[1], *node.operands[2], Binding::disjunction),
                 operand(*node.operands[2], *node.operands[1], Binding::disjunction)});
  }

  // Of a dtype or a layout. A word is no enumerator's name here, so its fact is printed. The same holds for the words
  // of a symbol that is another enum in C++.
  std::string fact(Op op, const Node& argument) const {
    if (argument.op == Op::word) return fmt::format("Integer({})", fact_of(op, argument.name).value_or(0));
    const Symbol& of = symbol_of(argument);
    const std::string_view enumeration = op == Op::bytes ? "DType::" : "Layout::";
    if (printer_.print_word(of, of.words.front()).starts_with(enumeration))
      return fmt::format("Integer({}({}))", row(op).cpp, symbol(argument));
    std::string text;
    for (const std::string& word : of.words) {
      const std::string of_word = fmt::format("Integer({})", fact_of(op, word).value_or(0));
      text = text.empty() ? of_word
                          : fmt::format("{}({} == {}, {}, {})", row(Op::choose).cpp, symbol(argument),
                                        printer_.print_word(of, word), of_word, text);
    }
    return text;
  }

  std::string membership(const Node& node) const {
    const Node& value = *node.operands[0];
    std::string text;
    for (const auto& item : std::span(node.operands).subspan(1)) {
      const std::string one =
          value.type == Type::word
              ? same_word(value, *item, true)
              : infix("==", {operand(value, *item, Binding::sum), operand(*item, value, Binding::sum)});
      text += fmt::format("{}{}", text.empty() ? "" : " || ", one);
    }
    return text;
  }

  std::string same_word(const Node& left, const Node& right, bool is_equal) const {
    const std::string_view sign = is_equal ? "==" : "!=";
    if (left.op == Op::word && right.op == Op::word) return (left.name == right.name) == is_equal ? "true" : "false";
    if (left.op == Op::word) return same_word(right, left, is_equal);
    if (right.op == Op::symbol) return same_symbol(left, right, is_equal);
    return infix(sign, {symbol(left), printer_.print_word(symbol_of(left), right.name)});
  }

  // Two parameters may be two enums in C++: they are equal if both hold the same one of the words they share.
  std::string same_symbol(const Node& left, const Node& right, bool is_equal) const {
    const Symbol& a = symbol_of(left);
    const Symbol& b = symbol_of(right);
    bool is_one_type = true;
    std::vector<std::string> shared;
    for (const std::string& word : a.words) {
      if (std::find(b.words.begin(), b.words.end(), word) == b.words.end()) continue;
      const std::string of_a = printer_.print_word(a, word);
      const std::string of_b = printer_.print_word(b, word);
      is_one_type &= of_a == of_b;
      shared.push_back(infix("&&", {infix("==", {symbol(left), of_a}), infix("==", {symbol(right), of_b})}));
    }
    if (is_one_type) return infix(is_equal ? "==" : "!=", {symbol(left), symbol(right)});
    return fmt::format("{}({})", is_equal ? "" : "!",
                       shared.size() == 1 ? shared[0] : fmt::format("({})", fmt::join(shared, ") || (")));
  }

  const Scope& scope_;
  const CppPrinter& printer_;
};

}  // namespace

std::string to_text(const Node& node) { return print(node); }
std::string to_text(const Expression& expression) { return to_text(expression.root()); }

std::string to_cpp(const Expression& expression, const Scope& scope, const CppPrinter& printer) {
  return CppWriter(scope, printer).print(expression.root());
}

}  // namespace qgen::expression
