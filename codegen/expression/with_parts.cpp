// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

std::unique_ptr<Node> with_parts(const Node& node, const NameOfPart& name_of) {
  auto copy = std::make_unique<Node>(copy_of(node));
  if (is_leaf(node)) return copy;
  if (auto name = name_of(Expression(std::make_shared<const Node>(copy_of(node))), node.definition)) {
    copy->definition = *std::move(name);
  } else if (node.definition.empty()) {
    for (auto& operand : copy->operands) operand = with_parts(*operand, name_of);
  }
  return copy;
}

void add_parts(const Node& node, const std::function<bool(const Expression&)>& is_wanted,
               std::vector<Expression>& parts) {
  Expression part(std::make_shared<const Node>(copy_of(node)));
  if (is_wanted(part)) return parts.push_back(std::move(part));
  for (const auto& operand : node.operands) add_parts(*operand, is_wanted, parts);
}

}  // namespace

Expression with_parts(const Expression& expression, const NameOfPart& name_of) {
  return Expression(std::shared_ptr<const Node>(with_parts(expression.root(), name_of)));
}

std::vector<Expression> parts_of(const Expression& expression,
                                 const std::function<bool(const Expression& part)>& is_wanted) {
  std::vector<Expression> parts;
  add_parts(expression.root(), is_wanted, parts);
  return parts;
}

bool is_division(const Expression& expression) {
  const Op op = expression.root().op;
  return op == Op::divide || op == Op::remainder || op == Op::ceil_div;
}

}  // namespace qgen::expression
