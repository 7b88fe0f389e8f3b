// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Proves that conditions follow from other conditions.
//
//   const Facts facts(conditions);        // k <= 61440 or not device.is_cpu;  n * 8 % 128 == 0
//   facts.imply(condition)                // k <= 1000000 or not device.is_cpu: true; n % 4 == 0: true; n % 32 == 0: no
//
// True is certain; false means only that there is no proof. It knows `and`, `or`, conditions that are spelled equally,
// upper bounds by numbers, and divisors. Bounds and divisors of `4 * n` and `ceil_div(n, 4)` follow from the bounds and
// divisors of n. Names are compared by their spelling, so conditions may come from different scopes if a name means the
// same in both. It assumes that no integer saturates.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/expression/expression.h"

namespace qgen::expression {

// `what <= most`.
struct UpperBound {
  std::string what;
  Integer most;
};
// Of a condition that is one; nullopt: it is another.
std::optional<UpperBound> upper_bound_of(const Expression& condition);

class Facts {
 public:
  explicit Facts(std::span<const Expression> conditions);
  bool imply(const Expression& condition) const;

 private:
  void add(const Node& condition);
  bool imply(const Node& condition) const;

  std::vector<Expression> conditions_;
  std::set<std::string, std::less<>> texts_;
  std::map<std::string, Integer, std::less<>> most_;  // the least upper bound
  std::map<std::string, std::vector<int64_t>, std::less<>> divisors_;
  std::vector<const Node*> alternatives_;  // `or`s; one operand of each holds
};

}  // namespace qgen::expression
