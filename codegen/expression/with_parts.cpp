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

}  // namespace

Expression with_parts(const Expression& expression, const NameOfPart& name_of) {
  return Expression(std::shared_ptr<const Node>(with_parts(expression.root(), name_of)));
}

}  // namespace qgen::expression
