// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>
#include <functional>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

using Tree = std::unique_ptr<Node>;
// The replacement of a symbol; null: the symbol itself.
using Meaning = std::function<Tree(const Node& symbol)>;

bool is_known(const Node& node) { return node.op == Op::literal || node.op == Op::word; }
bool is_known(const Node& node, const Value& value) { return node.op == Op::literal && node.value == value; }

Tree known(Value value, const Node& of) {
  auto node = std::make_unique<Node>();
  node->op = type_of(value) == Type::word ? Op::word : Op::literal;
  node->type = type_of(value);
  node->where = of.where;
  if (node->op == Op::word) node->name = std::get<Word>(value).text;
  node->value = std::move(value);
  return node;
}

// Simplifies an operator if one of its operands is known.
Tree simplified(Tree node) {
  auto& operands = node->operands;
  const auto is = [&](size_t i, const Value& value) { return is_known(*operands[i], value); };
  switch (node->op) {
    case Op::logical_and:
    case Op::logical_or: {
      const bool neutral = node->op == Op::logical_and;
      for (const size_t i : {0U, 1U}) {
        if (is(i, neutral)) return std::move(operands[1 - i]);
        if (is(i, !neutral)) return std::move(operands[i]);
      }
      break;
    }
    case Op::remainder:
      if (is(1, Integer(1))) return known(Integer(0), *node);
      break;
    case Op::multiply:
    case Op::divide:
    case Op::ceil_div:
      if (is(1, Integer(1)) && operands[0]->type == node->type) return std::move(operands[0]);
      break;
    case Op::choose:
      if (is_known(*operands[0])) {
        Tree& chosen = operands[std::get<bool>(operands[0]->value) ? 1 : 2];
        if (chosen->type == node->type) return std::move(chosen);
      }
      break;
    default: break;
  }
  return node;
}

Tree with_meanings(const Node& node, const Meaning& meaning) {
  if (node.op == Op::symbol) {
    if (Tree tree = meaning(node)) return tree;
  }
  auto copy = std::make_unique<Node>(
      Node{node.op, node.type, node.where, {}, node.name, node.symbol, node.value, node.function, ""});
  for (const auto& operand : node.operands) copy->operands.push_back(with_meanings(*operand, meaning));
  if (copy->operands.empty()) return copy;
  if (!std::ranges::all_of(copy->operands, [](const Tree& operand) { return is_known(*operand); })) {
    return simplified(std::move(copy));
  }
  const std::shared_ptr<const Node> whole = std::move(copy);
  return known(evaluate(Expression(whole), {}), *whole);
}

}  // namespace

Expression with_values(const Expression& expression, std::span<const std::optional<Value>> values) {
  const auto meaning = [&](const Node& symbol) {
    const bool is_known = symbol.symbol < values.size() && values[symbol.symbol];
    return is_known ? known(*values[symbol.symbol], symbol) : nullptr;
  };
  return Expression(std::shared_ptr<const Node>(with_meanings(expression.root(), meaning)));
}

Expression with_expressions(const Expression& expression, std::span<const std::optional<Expression>> meanings) {
  const auto meaning = [&](const Node& symbol) {
    const bool has_meaning = symbol.symbol < meanings.size() && meanings[symbol.symbol];
    return has_meaning ? std::make_unique<Node>(copy_of(meanings[symbol.symbol]->root())) : nullptr;
  };
  return Expression(std::shared_ptr<const Node>(with_meanings(expression.root(), meaning)));
}

std::optional<Value> value_of(const Expression& expression) {
  const Node& root = expression.root();
  return is_known(root) ? std::optional(root.value) : std::nullopt;
}

}  // namespace qgen::expression
