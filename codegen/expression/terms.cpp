// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/terms.h"

#include <algorithm>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

bool is_named(const Node& node) { return !node.definition.empty() && !is_leaf(node); }

// Definitions below the root become symbols of their names.
Node shortened(const Node& node) {
  Node copy = copy_of(node);
  for (auto& operand : copy.operands) {
    if (is_named(*operand)) {
      operand->op = Op::symbol;
      operand->name = operand->definition;
      operand->operands.clear();
    } else {
      *operand = shortened(*operand);
    }
  }
  return copy;
}

std::string short_text(const Node& node, bool is_root) {
  return is_named(node) && !is_root ? node.definition : to_text(shortened(node));
}

void add_terms(const Node& node, bool is_root, bool is_subtracted, std::vector<Term>& terms) {
  const bool is_sum = node.op == Op::add || node.op == Op::subtract;
  if (!is_sum || (is_named(node) && !is_root)) {
    terms.push_back(
        {short_text(node, is_root), Expression(std::make_shared<const Node>(copy_of(node))), is_subtracted});
    return;
  }
  add_terms(*node.operands[0], false, is_subtracted, terms);
  add_terms(*node.operands[1], false, is_subtracted != (node.op == Op::subtract), terms);
}

void add_names(const Node& node, std::vector<std::string>& names) {
  for (const auto& operand : node.operands) {
    if (!is_named(*operand)) add_names(*operand, names);
    else if (std::ranges::find(names, operand->definition) == names.end()) names.push_back(operand->definition);
  }
}

}  // namespace

std::vector<Term> terms_of(const Expression& expression) {
  std::vector<Term> terms;
  add_terms(expression.root(), true, false, terms);
  return terms;
}

std::string short_text(const Expression& expression) { return short_text(expression.root(), true); }

std::vector<std::string> definitions_named(const Expression& expression) {
  std::vector<std::string> names;
  add_names(expression.root(), names);
  return names;
}

}  // namespace qgen::expression
