// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/to_c.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

class CWriter {
 public:
  CWriter(const Scope& scope, const std::function<std::string(const Symbol&)>& print_symbol)
      : scope_(scope), print_symbol_(print_symbol) {}

  std::string print(const Node& node) const {
    switch (node.op) {
      case Op::literal: return literal(node);
      case Op::symbol: return print_symbol_(symbol_of(node));
      case Op::bytes:
      case Op::packed: return fact(node.op, *node.operands[0]);
      case Op::logical_not: return fmt::format("(!{})", print(*node.operands[0]));
      case Op::in: return membership(node);
      case Op::choose:
        return fmt::format("({} ? {} : {})", print(*node.operands[0]), print(*node.operands[1]),
                           print(*node.operands[2]));
      case Op::logical_or: return infix("||", node);
      case Op::logical_and: return infix("&&", node);
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal: return comparison(node);
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::remainder:
      case Op::negate:
      case Op::ceil_div:
      case Op::min:
      case Op::max: return arithmetic(node);
      case Op::word:
      case Op::call: break;
    }
    assert(false && "words are printed by whom they are compared with, calls belong to templates");
    return "";
  }

 private:
  const Symbol& symbol_of(const Node& node) const { return scope_.symbols()[node.symbol]; }

  static std::string literal(const Node& node) {
    const std::string text = to_text(node.value);
    if (node.type == Type::boolean) return text == "true" ? "1" : "0";
    if (node.type == Type::integer) return fmt::format("INT64_C({})", text);
    const bool is_plain = text.find_first_of(".e") == text.npos;
    return is_plain ? text + ".0" : text;
  }

  std::string infix(std::string_view sign, const Node& node) const {
    return fmt::format("({} {} {})", print(*node.operands[0]), sign, print(*node.operands[1]));
  }

  std::string comparison(const Node& node) const {
    if (node.operands[0]->type == Type::word)
      return same_word(*node.operands[0], *node.operands[1], node.op == Op::equal);
    return infix(row(node.op).cpp, node);
  }

  // qgen_add(a, b) for integers, qgen_add_real(a, b) for real numbers.
  std::string arithmetic(const Node& node) const {
    std::vector<std::string> arguments;
    for (const auto& operand : node.operands) arguments.push_back(print(*operand));
    return fmt::format("qgen_{}{}({})", function_of(node.op), node.type == Type::real ? "_real" : "",
                       fmt::join(arguments, ", "));
  }

  static std::string_view function_of(Op op) {
    switch (op) {
      case Op::add: return "add";
      case Op::subtract: return "sub";
      case Op::multiply: return "mul";
      case Op::divide: return "div";
      case Op::remainder: return "rem";
      case Op::negate: return "neg";
      case Op::ceil_div: return "ceil_div";
      case Op::min: return "min";
      default: return "max";
    }
  }

  static int64_t place_of(const Symbol& symbol, std::string_view word) {
    return std::ranges::find(symbol.words, word) - symbol.words.begin();
  }

  std::string fact(Op op, const Node& argument) const {
    const auto number = [&](std::string_view word) {
      return fmt::format("INT64_C({})", fact_of(op, word).value_or(0));
    };
    if (argument.op == Op::word) return number(argument.name);
    const Symbol& of = symbol_of(argument);
    std::string text;
    for (size_t i = 0; i < of.words.size(); ++i) {
      text = i == 0 ? number(of.words[0])
                    : fmt::format("({} == {} ? {} : {})", print_symbol_(of), i, number(of.words[i]), text);
    }
    return text;
  }

  std::string membership(const Node& node) const {
    const Node& value = *node.operands[0];
    std::vector<std::string> any;
    for (const auto& item : std::span(node.operands).subspan(1)) {
      any.push_back(value.type == Type::word ? same_word(value, *item, true)
                                             : fmt::format("({} == {})", print(value), print(*item)));
    }
    return fmt::format("({})", fmt::join(any, " || "));
  }

  std::string same_word(const Node& left, const Node& right, bool is_equal) const {
    if (left.op == Op::word && right.op == Op::word) return (left.name == right.name) == is_equal ? "1" : "0";
    if (left.op == Op::word) return same_word(right, left, is_equal);
    const Symbol& a = symbol_of(left);
    if (right.op == Op::word)
      return fmt::format("({} {} {})", print_symbol_(a), is_equal ? "==" : "!=", place_of(a, right.name));
    return same_symbol(a, symbol_of(right), is_equal);
  }

  // Two symbols count their words apart: they are equal if both are the same of the words that they share.
  std::string same_symbol(const Symbol& a, const Symbol& b, bool is_equal) const {
    std::vector<std::string> shared;
    for (const std::string& word : a.words) {
      if (std::ranges::find(b.words, word) == b.words.end()) continue;
      shared.push_back(fmt::format("({} == {} && {} == {})", print_symbol_(a), place_of(a, word), print_symbol_(b),
                                   place_of(b, word)));
    }
    if (shared.empty()) shared.emplace_back("0");
    return fmt::format("{}({})", is_equal ? "" : "!", fmt::join(shared, " || "));
  }

  const Scope& scope_;
  const std::function<std::string(const Symbol&)>& print_symbol_;
};

}  // namespace

std::string to_c(const Expression& expression, const Scope& scope,
                 const std::function<std::string(const Symbol&)>& print_symbol) {
  return CWriter(scope, print_symbol).print(expression.root());
}

}  // namespace qgen::expression
