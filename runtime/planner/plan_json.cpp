// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A plan as JSON, keys in a fixed order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/planner/plan.h"
#include "runtime/planner/text_report.h"

namespace qgen::planner {
namespace {

template <typename List, typename Write>
std::string array(const List& list, Write write) {
  std::vector<std::string> parts;
  for (const auto& item : list) parts.push_back(write(item));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

template <typename List, typename Write>
std::string lines(const List& list, Write write) {
  std::vector<std::string> parts;
  for (const auto& item : list) parts.push_back("\n    " + write(item));
  return parts.empty() ? "[]" : fmt::format("[{}\n  ]", fmt::join(parts, ","));
}

std::string quoted_name(Representation r) { return quoted(name(r)); }

}  // namespace

std::string to_json(const Plan& plan) {
  const auto tensor = [](const PlannedTensor& t) {
    return fmt::format(R"({{"name": {}, "home": {}}})", quoted(t.name), quoted_name(t.home));
  };
  const auto node = [](const PlannedNode& n) {
    return fmt::format(R"({{"name": {}, "kernel": {}, "cost_us": {}, "takes": {}}})", quoted(n.name), quoted(n.kernel),
                       n.cost_us, array(n.takes, quoted_name));
  };
  const auto conversion = [](const Conversion& c) {
    return fmt::format(R"({{"tensor": {}, "from": {}, "to": {}, "cost_us": {}, "readers": {}, "leaves": {}}})",
                       quoted(c.tensor), quoted_name(c.from), quoted_name(c.to), c.cost_us, array(c.readers, quoted),
                       c.leaves);
  };
  const auto dropped = [](const Dropped& d) {
    return fmt::format(R"({{"tensor": {}, "representation": {}, "reason": {}}})", quoted(d.tensor),
                       quoted_name(d.representation), quoted(d.reason));
  };
  return fmt::format(
      "{{\n  \"cost_us\": {},\n  \"lower_bound_us\": {},\n  \"tensors\": {},\n  \"operators\": {},\n"
      "  \"conversions\": {},\n  \"dropped\": {}\n}}\n",
      plan.cost_us, plan.lower_bound_us, lines(plan.tensors, tensor), lines(plan.nodes, node),
      lines(plan.conversions, conversion), lines(plan.dropped, dropped));
}

}  // namespace qgen::planner
