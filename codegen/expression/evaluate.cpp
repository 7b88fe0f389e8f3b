// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Evaluates the tree recursively. `require` is evaluated for every combination of a spec's parameters. So leaves are
// read in place, and words are compared without a copy.
#include <cassert>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

using Environment = std::span<const Value>;

Value compute(const Node& node, Environment environment);

// The value of a node: a leaf's in place, any other in `scratch`.
const Value& read(const Node& node, Environment environment, Value& scratch) {
  if (node.op == Op::symbol) {
    assert(node.symbol < environment.size() && "every symbol that an expression names has a value");
    return environment[node.symbol];
  }
  if (node.op == Op::literal || node.op == Op::word) return node.value;
  scratch = compute(node, environment);
  return scratch;
}

Integer integer(const Value& value) { return std::get<Integer>(value); }
Real real(const Value& value) {
  const Integer* whole = std::get_if<Integer>(&value);
  return whole ? Real(*whole) : std::get<Real>(value);
}

bool truth(const Node& node, Environment environment) {
  Value scratch;
  return std::get<bool>(read(node, environment, scratch));
}

template <typename Number>
Number arithmetic(Op op, Number a, Number b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::divide: return a / b;
    case Op::min: return min(a, b);
    case Op::max: return max(a, b);
    default: break;
  }
  assert(false && "arithmetic() is given arithmetic");
  return a;
}

Value arithmetic(const Node& node, Environment environment) {
  Value left, right;
  const Value& a = read(*node.operands[0], environment, left);
  const Value& b = read(*node.operands[1], environment, right);
  if (node.op == Op::remainder) return integer(a) % integer(b);
  if (node.op == Op::ceil_div) return ceil_div(integer(a), integer(b));
  if (node.type == Type::real) return arithmetic(node.op, real(a), real(b));
  return arithmetic(node.op, integer(a), integer(b));
}

bool equal(const Value& a, const Value& b) { return a.index() == b.index() ? a == b : real(a) == real(b); }

template <typename Number>
bool ordered(Op op, Number a, Number b) {
  switch (op) {
    case Op::less: return a < b;
    case Op::less_equal: return a <= b;
    case Op::greater: return a > b;
    case Op::greater_equal: return a >= b;
    default: break;
  }
  assert(false && "ordered() is given an ordering");
  return false;
}

bool comparison(const Node& node, Environment environment) {
  Value left, right;
  const Value& a = read(*node.operands[0], environment, left);
  const Value& b = read(*node.operands[1], environment, right);
  if (node.op == Op::equal) return equal(a, b);
  if (node.op == Op::not_equal) return !equal(a, b);
  const bool are_integers = type_of(a) == Type::integer && type_of(b) == Type::integer;
  return are_integers ? ordered(node.op, integer(a), integer(b)) : ordered(node.op, real(a), real(b));
}

bool membership(const Node& node, Environment environment) {
  Value left, right;
  const Value& value = read(*node.operands[0], environment, left);
  for (size_t i = 1; i < node.operands.size(); ++i) {
    if (equal(value, read(*node.operands[i], environment, right))) return true;
  }
  return false;
}

Value negated(const Node& node, Environment environment) {
  Value scratch;
  const Value& operand = read(*node.operands[0], environment, scratch);
  if (node.type == Type::real) return -real(operand);
  return -integer(operand);
}

Value fact(const Node& node, Environment environment) {
  Value scratch;
  const std::string& word = std::get<Word>(read(*node.operands[0], environment, scratch)).text;
  return Integer(fact_of(node.op, word).value_or(0));
}

Value choice(const Node& node, Environment environment) {
  Value scratch;
  const Value& chosen = read(*node.operands[truth(*node.operands[0], environment) ? 1 : 2], environment, scratch);
  return node.type == Type::real ? Value(real(chosen)) : chosen;
}

Value call(const Node& node, Environment environment) {
  std::vector<Value> arguments;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    Value value = compute(*node.operands[i], environment);
    const bool widens = node.function->arguments[i] == Type::real && type_of(value) == Type::integer;
    arguments.push_back(widens ? Value(real(value)) : std::move(value));
  }
  return node.function->evaluate(arguments);
}

Value compute(const Node& node, Environment environment) {
  switch (node.op) {
    case Op::logical_or: return truth(*node.operands[0], environment) || truth(*node.operands[1], environment);
    case Op::logical_and: return truth(*node.operands[0], environment) && truth(*node.operands[1], environment);
    case Op::logical_not: return !truth(*node.operands[0], environment);
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return comparison(node, environment);
    case Op::in: return membership(node, environment);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::remainder:
    case Op::ceil_div:
    case Op::min:
    case Op::max: return arithmetic(node, environment);
    case Op::negate: return negated(node, environment);
    case Op::bytes:
    case Op::packed: return fact(node, environment);
    case Op::choose: return choice(node, environment);
    case Op::call: return call(node, environment);
    case Op::literal:
    case Op::word: return node.value;
    case Op::symbol: return environment[node.symbol];
  }
  return Value();
}

}  // namespace

Value evaluate(const Expression& expression, std::span<const Value> environment) {
  return compute(expression.root(), environment);
}

}  // namespace qgen::expression
