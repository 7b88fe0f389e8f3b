// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/facts.h"

#include <algorithm>
#include <numeric>

#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

// Each `or` that is known is tried from both sides; conditions have one or two.
constexpr size_t kMaxAlternatives = 6;

// A positive number that stands there; 0: none does.
int64_t number_of(const Node& node) {
  const Integer* number = node.op == Op::literal ? std::get_if<Integer>(&node.value) : nullptr;
  return number && number->value > 0 ? number->value : 0;
}

struct Bounded {
  const Node* what;
  Integer most;
};

// `4 * n <= 10` and `ceil_div(n, 4) <= 2` are bounds of n: it is no more than the bound of the result allows, and no
// less than that either.
Bounded peeled(Bounded bound) {
  while (true) {
    const auto& operands = bound.what->operands;
    if (bound.what->op == Op::multiply && bound.what->type == Type::integer && bound.most >= Integer(0)) {
      const size_t number = number_of(*operands[0]) != 0 ? 0 : 1;
      const int64_t factor = number_of(*operands[number]);
      if (factor == 0) return bound;
      bound = {operands[1 - number].get(), bound.most / factor};
    } else if (bound.what->op == Op::ceil_div && number_of(*operands[1]) != 0) {
      bound = {operands[0].get(), bound.most * number_of(*operands[1])};
    } else {
      return bound;
    }
  }
}

std::optional<Bounded> bounded(const Node& condition) {
  const auto most_of = [&](size_t what, size_t number, int64_t less) -> std::optional<Bounded> {
    const Node& bound = *condition.operands[number];
    if (bound.op != Op::literal || !std::holds_alternative<Integer>(bound.value)) return std::nullopt;
    if (condition.operands[what]->type != Type::integer) return std::nullopt;
    return peeled({condition.operands[what].get(), std::get<Integer>(bound.value) - Integer(less)});
  };
  switch (condition.op) {
    case Op::less_equal: return most_of(0, 1, 0);
    case Op::less: return most_of(0, 1, 1);
    case Op::greater_equal: return most_of(1, 0, 0);
    case Op::greater: return most_of(1, 0, 1);
    case Op::equal: return most_of(0, 1, 0);
    default: return std::nullopt;
  }
}

struct Divided {
  const Node* what;
  int64_t divisor;
};

// `n * 8 % 128 == 0`: 16 divides n.
std::optional<Divided> divided(const Node& condition) {
  if (condition.op != Op::equal || condition.operands[0]->op != Op::remainder) return std::nullopt;
  const Node& zero = *condition.operands[1];
  if (zero.op != Op::literal || zero.value != Value(Integer(0))) return std::nullopt;
  const Node& remainder = *condition.operands[0];
  Divided result{remainder.operands[0].get(), number_of(*remainder.operands[1])};
  if (result.divisor == 0) return std::nullopt;
  while (result.what->op == Op::multiply) {
    const auto& operands = result.what->operands;
    const size_t number = number_of(*operands[0]) != 0 ? 0 : 1;
    const int64_t factor = number_of(*operands[number]);
    if (factor == 0) break;
    result = {operands[1 - number].get(), result.divisor / std::gcd(result.divisor, factor)};
  }
  return result;
}

}  // namespace

std::optional<UpperBound> upper_bound_of(const Expression& condition) {
  const Node& root = condition.root();
  const auto bound = root.op == Op::equal ? std::nullopt : bounded(root);
  return bound ? std::optional(UpperBound{to_text(*bound->what), bound->most}) : std::nullopt;
}

Facts::Facts(std::span<const Expression> conditions) : conditions_(conditions.begin(), conditions.end()) {
  for (const Expression& condition : conditions_) add(condition.root());
}

void Facts::add(const Node& condition) {
  if (condition.op == Op::logical_and) {
    for (const auto& operand : condition.operands) add(*operand);
    return;
  }
  texts_.insert(to_text(condition));
  if (condition.op == Op::logical_or && alternatives_.size() < kMaxAlternatives) alternatives_.push_back(&condition);
  if (const auto bound = bounded(condition)) {
    const auto [place, is_new] = most_.emplace(to_text(*bound->what), bound->most);
    if (!is_new) place->second = min(place->second, bound->most);
  }
  if (const auto division = divided(condition)) divisors_[to_text(*division->what)].push_back(division->divisor);
}

bool Facts::imply(const Expression& condition) const { return imply(condition.root()); }

bool Facts::imply(const Node& condition) const {
  const auto holds = [&](const auto& operand) { return imply(*operand); };
  if (condition.op == Op::literal) return condition.value == Value(true);
  if (condition.op == Op::logical_and) return std::ranges::all_of(condition.operands, holds);
  if (texts_.contains(to_text(condition))) return true;
  if (condition.op == Op::logical_or && std::ranges::any_of(condition.operands, holds)) return true;
  if (condition.op != Op::equal) {
    if (const auto bound = bounded(condition)) {
      const auto known = most_.find(to_text(*bound->what));
      if (known != most_.end() && known->second <= bound->most) return true;
    }
  }
  if (const auto division = divided(condition)) {
    const auto known = divisors_.find(to_text(*division->what));
    const auto divides = [&](int64_t divisor) { return divisor % division->divisor == 0; };
    if (division->divisor == 1 || (known != divisors_.end() && std::ranges::any_of(known->second, divides)))
      return true;
  }
  if (alternatives_.empty()) return false;
  // Whichever side of an alternative holds, it follows.
  return std::ranges::all_of(alternatives_.back()->operands, [&](const auto& side) {
    Facts with_side = *this;
    with_side.alternatives_.pop_back();
    with_side.add(*side);
    return with_side.imply(condition);
  });
}

}  // namespace qgen::expression
